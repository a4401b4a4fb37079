// Questions to the server. The token comes with the address that the program has printed, and then stays with
// this browser: no link that is shared has it.

const KEY = "ackclock-token";

/**
 * @typedef {object} Problem
 * @property {string} message  the command line's own
 * @property {string | null} help
 * @property {string} key  what it concerns, dotted
 * @property {number | null} line
 */

/** The token: that of the address, which then has it no longer, or the one that was there before. */
function admitted() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  try {
    if (given) localStorage.setItem(KEY, given);
  } catch {
    // Without storage the page works, but not after it was loaded again.
  }
  if (given) {
    address.searchParams.delete("token");
    history.replaceState(null, "", address);
    return given;
  }
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

const token = admitted();

/** @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] */
async function send(path, body, signal) {
  const headers = { "content-type": "application/json", "x-ackclock-token": token };
  const asked =
    body === undefined
      ? { headers, signal }
      : { method: "POST", headers, signal, body: JSON.stringify(body) };
  const answer = await fetch(path, { ...asked, cache: "no-store" });
  if (!answer.ok) throw new Error((await answer.text()).trim() || `the server says ${answer.status}`);
  return answer;
}

/** An answer as JSON. @param {string} path @param {unknown} [body] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function ask(path, body, signal) {
  return (await send(path, body, signal)).json();
}

/**
 * An answer event by event, as long as it lasts.
 * @param {string} path @param {unknown} body @param {AbortSignal} signal @param {(name: string, data: any) => void} see
 */
export async function follow(path, body, signal, see) {
  const answer = await send(path, body, signal);
  if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    see("refused", { variant: 0, ...(await answer.json()) });
    return;
  }
  const reader = /** @type {ReadableStream<Uint8Array>} */ (answer.body).getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(part) ?? [];
      if (name) see(name, JSON.parse(data));
    }
  }
}
