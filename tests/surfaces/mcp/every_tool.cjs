// The newest TypeScript client: calls every tool with each protocol over each transport, prints one JSON object with what it saw.
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const [address, token, calls, program, ...args] = process.argv.slice(2);
const MODES = { legacy: "legacy", modern: { pin: "2026-07-28" } };
const TRANSPORTS = {
  stdio: () => new StdioClientTransport({ command: program, args, env: process.env, stderr: "ignore" }),
  http: () => new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }),
};

async function main() {
  const seen = {};
  for (const [era, mode] of Object.entries(MODES)) {
    for (const [name, transport] of Object.entries(TRANSPORTS)) {
      const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
      await client.connect(transport());
      const told = { version: client.getNegotiatedProtocolVersion(), era: client.getProtocolEra() };
      told.tools = (await client.listTools()).tools.map((tool) => tool.name);
      told.answers = {};
      for (const [tool, given] of Object.entries(JSON.parse(calls))) {
        const result = await client.callTool({ name: tool, arguments: given });
        told.answers[tool] = [result.isError === true, result.content[0].text.slice(0, 200)];
      }
      seen[`${era} ${name}`] = told;
      await client.close();
    }
  }
  process.stdout.write(JSON.stringify(seen));
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
