// Requests to the server. An error has a code, one line, and a hint that names controls of this page.

export class RequestError extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.code = error.code;
    this.hint = error.hint || "";
  }
}

// On a team's server every request names its project.
export const scope = { project: "" };

export function query(values) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") params.append(name, one);
    }
  }
  return params.toString();
}

export async function get(name, values = {}, signal = undefined) {
  let reply;
  try {
    reply = await fetch(`/api/${name}?${query({ project: scope.project, ...values })}`, { signal, headers: { accept: "application/json", "lurcher-surface": "page" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, { code: "offline", message: "The server does not answer.", hint: "Is the command lurcher serve still running?" });
  }
  let body = null;
  try {
    body = await reply.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (reply.ok && body) return body;
  throw new RequestError(reply.status, (body && body.error) || { code: "unknown", message: `The server answered ${reply.status}.` });
}
