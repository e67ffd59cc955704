// SPDX-License-Identifier: Apache-2.0
// The options of a report: values, grouping and filters.
import { h } from "./dom";

export const VALUE_NAMES: { [value: string]: string } = {
  inuse_space: "bytes in use", inuse_objects: "objects in use", alloc_space: "bytes allocated", alloc_objects: "objects allocated",
  freed_space: "bytes freed", freed_objects: "objects freed",
  churn: "churn, bytes per second", age: "age of bytes in use", lifetime: "lifetime of bytes freed",
  pinned: "free bytes pinned in slabs", whatif: "what if: slabs given back",
};
export const BY: [string, string][] = [["function", "functions"], ["line", "lines"], ["file", "files"], ["object", "modules"], ["address", "addresses"],
  ["size", "size classes"], ["thread", "threads"]];
/** For stacks and frames: parameter, label, description. All but the last are regular expressions. */
export const FILTERS: [string, string, string][] = [
  ["focus", "Focus", "only stacks with a frame that matches"],
  ["ignore", "Ignore", "no stacks with a frame that matches"],
  ["exclude", "Hide", "leave out frames that match"],
  ["retain", "Show only", "leave out frames that do not match"],
  ["show-from", "Show from", "begin each stack at its outermost frame that matches"],
  ["thread", "Thread", "only what this thread allocated: number or name"],
];

export function select(label: string, values: [string, string][], onchange: (value: string) => void): HTMLSelectElement {
  const box: HTMLSelectElement = h("select", { "aria-label": label, onchange: () => onchange(box.value) }, ...values.map(([value, text]) => h("option", { value }, text)));
  return box;
}

/** A field for a filter: LABEL, and its description. */
export function regexField(label: string, about: string, onchange: (text: string) => void): HTMLInputElement {
  const input: HTMLInputElement = h("input", { type: "text", "aria-label": `${label}: ${about}`, title: about, placeholder: label, spellcheck: "false", onchange: () => onchange(input.value) });
  return input;
}
