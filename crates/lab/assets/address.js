// The scenario in the address: a link shares it. What stands behind the hash never goes to a server.

/**
 * @typedef {{name: string, text: string}} Variant
 * @typedef {{variants: Variant[], chosen: number, beside: boolean}} State
 */

/** The most that a link may hold, once unpacked, bytes. */
const MOST = 1 << 20;

/** @param {BlobPart} data @param {CompressionStream | DecompressionStream} way */
async function through(data, way) {
  const reader = new Blob([data])
    .stream()
    .pipeThrough(/** @type {any} */ (way))
    .getReader();
  /** @type {Uint8Array[]} */
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST) throw new Error("this link holds more than a page can");
    parts.push(value);
  }
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** The state as it stands behind the hash of a link. @param {State} state */
export async function written({ variants, chosen, beside }) {
  const packed = await through(
    JSON.stringify([variants.map(({ name, text }) => [name, text]), chosen, beside]),
    new CompressionStream("deflate-raw"),
  );
  let letters = "";
  for (const byte of packed) letters += String.fromCharCode(byte);
  return `#s=${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}

/** The state of a link; null: it has none. @param {string} hash @returns {Promise<State | null>} */
export async function read(hash) {
  const [, packed] = /^#s=([\w-]+)$/.exec(hash) ?? [];
  if (!packed) return null;
  const letters = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const [variants, chosen, beside] = JSON.parse(
    new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))),
  );
  const known = /** @type {[string, string][]} */ (variants).slice(0, 6);
  if (
    known.length === 0 ||
    !known.every(([name, text]) => typeof name === "string" && typeof text === "string")
  )
    throw new Error("this link holds no scenario");
  return {
    variants: known.map(([name, text]) => ({ name: name.slice(0, 40), text })),
    chosen: Math.min(Math.max(Number(chosen) || 0, 0), known.length - 1),
    beside: beside === true,
  };
}
