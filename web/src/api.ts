// SPDX-License-Identifier: Apache-2.0
// Requests to the server.

export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string, readonly hint: string) {
    super(message);
  }
}

export interface Options {
  method?: string;
  body?: BodyInit;
  headers?: { [name: string]: string };
  signal?: AbortSignal;
}

let onUnauthorized: () => void = () => undefined;

/** Calls FUNC when a request requires signing in. */
export function onSignInNeeded(func: () => void): void {
  onUnauthorized = func;
}

async function failure(response: Response): Promise<ApiError> {
  const text = await response.text();
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

export async function json<T>(path: string, options: Options = {}): Promise<T> {
  return (await request(path, options)).json();
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
