"""The surfaces: command line, MCP, HTTP and the page. Each maps its calls to the engine, and errors once, at its edge."""
