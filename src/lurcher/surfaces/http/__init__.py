"""The HTTP API and the page in a browser: `lurcher serve`. Needs the extra `web`; nothing else imports what it brings."""
