// The TypeScript client against the real process: prints one JSON object with what it saw.
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { ListRootsRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const { pathToFileURL } = require("node:url");

const DATA = { "lurcher/structured": true };
const [program, repository, slow, ...args] = process.argv.slice(2);

async function connected(roots, extra) {
  const transport = new StdioClientTransport({ command: program, args: [...args, ...extra], env: process.env, stderr: "ignore" });
  const client = new Client({ name: "test", version: "1" }, { capabilities: roots ? { roots: { listChanged: true } } : {} });
  if (roots) {
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: roots.map((root) => ({ uri: pathToFileURL(root).href })) }));
  }
  await client.connect(transport);
  return client;
}

async function main() {
  const seen = {};
  const client = await connected(null, ["--root", repository]);
  seen.server = client.getServerVersion();
  seen.capabilities = Object.keys(client.getServerCapabilities());
  seen.instructions = client.getInstructions();
  seen.plain = (await client.listTools()).tools.map((tool) => tool.outputSchema === undefined);
  const { tools } = await client.listTools({ _meta: DATA });
  seen.tools = tools.map((tool) => [tool.name, tool.annotations.readOnlyHint, tool.outputSchema.type]);
  seen.indexed = (await client.callTool({ name: "index", arguments: {} })).isError === true;
  seen.search = await client.callTool({ name: "search", arguments: { query: "how are redirects followed", limit: 2 }, _meta: DATA });
  seen.text = (await client.callTool({ name: "read", arguments: { path: "src/client.py" }, _meta: DATA })).structuredContent.text;
  seen.outline = await client.callTool({ name: "outline", arguments: { path: "src/client.py" }, _meta: DATA });
  seen.refused = await client.callTool({ name: "outline", arguments: { path: "../../etc" } });
  seen.unknown = await client.callTool({ name: "dowse", arguments: {} }).catch((error) => ({ code: error.code, data: error.data }));
  seen.resources = (await client.listResources()).resources.map((resource) => resource.uri);
  seen.templates = (await client.listResourceTemplates()).resourceTemplates.map((template) => template.uriTemplate);
  seen.status = (await client.readResource({ uri: "lurcher://status" })).contents[0].text;
  seen.missing = await client.readResource({ uri: "lurcher://outline/none.py" }).catch((error) => ({ code: error.code }));
  await client.close();

  const other = await connected(null, ["--root", slow]);
  await other.listTools();
  const progress = [];
  const stop = new AbortController();
  const call = other.callTool({ name: "index", arguments: {} }, undefined, {
    signal: stop.signal,
    timeout: 60000,
    onprogress: (step) => {
      progress.push(step.progress);
      stop.abort("enough");
    },
  });
  seen.cancelled = await call.then(() => "finished", (error) => String(error));
  seen.progress = progress;
  seen.after = (await other.callTool({ name: "status", arguments: {}, _meta: DATA })).structuredContent;
  await other.close();

  const rooted = await connected([repository], []);
  seen.roots = (await rooted.callTool({ name: "status", arguments: {}, _meta: DATA })).structuredContent.roots.map((root) => root.root);
  seen.outside = await rooted.callTool({ name: "outline", arguments: { path: slow } });
  await rooted.close();
  process.stdout.write(JSON.stringify(seen));
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
