// SPDX-License-Identifier: Apache-2.0
// The page of a server, left open: bench/page BUILD hour. Prints a line of JSON at the begin and after each part of the time: what the
// page's heap holds after garbage was collected, the nodes of its document, and the processes that it lists.
//
//     node bench/hour.mjs URL TARGETS SECONDS PARTS
import { createRequire } from "node:module";

const { chromium } = createRequire(new URL("../tests/browser/", import.meta.url))("playwright-core");
const [url, targets, seconds, parts] = [process.argv[2], ...process.argv.slice(3).map(Number)];

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const errors = [];
page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
page.on("pageerror", (error) => errors.push(error.message));
await page.goto(url);
await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length >= count, targets);
const session = await page.context().newCDPSession(page);
await session.send("HeapProfiler.enable");

async function tell() {
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  const { nodes } = await session.send("Memory.getDOMCounters");
  console.log(JSON.stringify({ heap: usedSize, nodes, rows: await page.locator("tbody tr").count(), errors: errors.length }));
}

// The first minute fills caches and trends.
await new Promise((done) => setTimeout(done, Math.min(60, seconds / 10) * 1000));
await tell();
for (let part = 0; part < parts; part++) {
  await new Promise((done) => setTimeout(done, seconds / parts * 1000));
  await tell();
}
await browser.close();
