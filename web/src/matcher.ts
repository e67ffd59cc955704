// SPDX-License-Identifier: Apache-2.0
// Regular expressions of readers, which may come from a link of someone else, over names from elsewhere. One can take
// exponential time, which nothing in its own thread can end: a worker runs it.

const LIMIT_MS = 3000;

// A worker has no file of its own, so that a page from a file has one, too.
const program = `onmessage = ({ data: { text, names } }) => {
  const pattern = new RegExp(text, "i");
  postMessage(names.map((name) => pattern.test(name)));
};`;

/** Which of NAMES the expression TEXT matches, in any case; null if that takes too long. Ends early by SIGNAL. */
export function matches(text: string, names: string[], signal: AbortSignal): Promise<boolean[] | null> {
  new RegExp(text, "i"); // a syntax error is the caller's
  const url = URL.createObjectURL(new Blob([program], { type: "text/javascript" }));
  const worker = new Worker(url);
  return new Promise<boolean[] | null>((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), LIMIT_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("another search has begun", "AbortError"));
    });
    worker.onmessage = ({ data }) => resolve(data as boolean[]);
    worker.onerror = () => reject(new Error("The browser does not search here."));
    worker.postMessage({ text, names });
  }).finally(() => {
    worker.terminate();
    URL.revokeObjectURL(url);
  });
}
