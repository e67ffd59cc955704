// SPDX-License-Identifier: Apache-2.0
// A small line of values over time, with its range as text.
import { h, svg } from "./dom";

const WIDTH = 120;
const HEIGHT = 24;

/** POINTS of time and value, without unknown ones; LABEL describes the graph, given the minimum, the maximum and the
 * seconds. */
export function sparkline(points: [number, number | null][], label: (low: number, high: number, seconds: number) => string): Node {
  const known = points.filter((point): point is [number, number] => point[1] !== null);
  if (known.length < 2) {
    return h("span", { class: "faint" }, "–");
  }
  const values = known.map((point) => point[1]);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const [begin, end] = [known[0][0], known[known.length - 1][0]];
  const path = known.map(([time, value], index) => {
    const x = (time - begin) / (end - begin || 1) * WIDTH;
    const y = high === low ? HEIGHT / 2 : HEIGHT - 2 - (value - low) / (high - low) * (HEIGHT - 4);
    return `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
  }).join("");
  const text = label(low, high, end - begin);
  return svg("svg", { class: "trend", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": text },
    svg("title", {}, text), svg("path", { d: path }));
}
