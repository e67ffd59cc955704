// SPDX-License-Identifier: Apache-2.0
// Requests to the server.

export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string, readonly hint: string) {
    super(message);
  }
}

/** The code of answers that are larger than the server, or this page, takes from a process or another host. */
const TOO_LARGE = "too_large";
// Bytes of answers, which are parsed as a whole in the thread of the page.
const DOCUMENT_MAX = 16 << 20;
/** Of a profile, whose names fill most. */
export const PROFILE_MAX = 64 << 20;
const ERROR_MAX = 64 << 10;

export function isTooLarge(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === TOO_LARGE;
}

export interface Options {
  method?: string;
  body?: BodyInit;
  headers?: { [name: string]: string };
  signal?: AbortSignal;
  max?: number; // bytes of the answer
}

let onUnauthorized: () => void = () => undefined;

/** Calls FUNC when a request requires signing in. */
export function onSignInNeeded(func: () => void): void {
  onUnauthorized = func;
}

/** The body of RESPONSE; null if it is larger than MAX bytes. Content-Length does not tell: it is that of a packed body. */
async function bodyOf(response: Response, max: number): Promise<string | null> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let left = max;
  for (let piece = await reader?.read(); piece?.value !== undefined; piece = await reader?.read()) {
    left -= piece.value.length;
    if (left < 0) {
      await reader?.cancel();
      return null;
    }
    text += decoder.decode(piece.value, { stream: true });
  }
  return text + decoder.decode();
}

async function failure(response: Response): Promise<ApiError> {
  const text = await bodyOf(response, ERROR_MAX) ?? "";
  try {
    const { code, message, hint } = JSON.parse(text).error;
    return new ApiError(response.status, code, message, hint ?? "");
  } catch {
    return new ApiError(response.status, "http", text.trim() || `the server answered ${response.status}`, "");
  }
}

export async function request(path: string, options: Options = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { ...options, credentials: "same-origin", cache: "no-cache" });
  } catch (error) {
    if ((error as Error).name === "AbortError") {
      throw error;
    }
    throw new ApiError(0, "unreachable", "the server does not answer", "the page asks again until it does");
  }
  if (response.ok) {
    return response;
  }
  const error = await failure(response);
  if (response.status === 401) {
    onUnauthorized();
  }
  throw error;
}

// Views ask again by themselves: what was too large is not received again until the page is reloaded.
const tooLarge = new Map<string, ApiError>();

async function receive(path: string, options: Options): Promise<string> {
  const max = options.max ?? DOCUMENT_MAX;
  const text = await bodyOf(await request(path, options), max);
  if (text === null) {
    throw new ApiError(200, TOO_LARGE, `the answer to ${path.split("?")[0]} is larger than ${max >> 20} MiB`, "the page would hang; read it with another program");
  }
  return text;
}

export async function text(path: string, options: Options = {}): Promise<string> {
  const known = tooLarge.get(path);
  if (known !== undefined) {
    throw known;
  }
  try {
    return await receive(path, options);
  } catch (error) {
    if (isTooLarge(error) && options.method === undefined) {
      tooLarge.set(path, error);
    }
    throw error;
  }
}

export async function json<T>(path: string, options: Options = {}): Promise<T> {
  return JSON.parse(await text(path, options));
}

export type Query = { [name: string]: string | number | boolean | null | undefined };

/** PATH with QUERY; empty values are omitted. */
export function url(path: string, query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "" && value !== false) {
      words.set(name, String(value));
    }
  }
  const text = words.toString();
  return text ? `${path}?${text}` : path;
}

/** TEXT as one component of a path. "." and ".." name other paths, in each of their spellings: nothing has such an id. */
export function component(text: string): string {
  return /^\.{0,2}$/.test(text) ? "-" : encodeURIComponent(text);
}

export function targetPath(target: string, rest = ""): string {
  return `/api/v1/targets/${component(target)}${rest}`;
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
