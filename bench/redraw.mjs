// SPDX-License-Identifier: Apache-2.0
// How long the page takes to draw its flame graph again, frame by frame: bench/page BUILD redraw. Prints one line of JSON.
//
//     node bench/redraw.mjs FILE.html WIDTH HEIGHT
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../tests/browser/", import.meta.url))("playwright-core");
const [file, width, height] = process.argv.slice(2);
const STEPS = 400;

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) } });
await page.addInitScript(() => {
  window.drawn = [];
  const ask = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => ask((time) => {
    const begin = performance.now();
    draw(time);
    window.drawn.push(performance.now() - begin);
  });
});
await page.goto(`file://${file}`);
const flame = page.getByRole("group", { name: /^Flame graph/ });
await flame.focus();
const times = await page.evaluate(async (steps) => {
  const element = document.activeElement;
  const frame = () => new Promise((done) => setTimeout(done, 0));
  const keys = ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"];
  window.drawn.length = 0;
  for (let step = 0; window.drawn.length < steps && step < 20 * steps; step++) {
    element.dispatchEvent(new KeyboardEvent("keydown", { key: keys[step % keys.length], bubbles: true, cancelable: true }));
    await frame();
  }
  return window.drawn;
}, STEPS);
await browser.close();
times.sort((a, b) => a - b);
const at = (share) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] * 10) / 10;
console.log(JSON.stringify({ frames: times.length, median: at(0.5), p99: at(0.99), most: at(1) }));
