// SPDX-License-Identifier: Apache-2.0
// How long speedscope takes to show a profile, in the browser that our page is measured in: bench/page BUILD speedscope. Prints one line of
// JSON: the seconds from the choice of the file until its chart is there, or how it failed.
//
//     node bench/speedscope.mjs FOLDER-OF-SPEEDSCOPE FILE SECONDS
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(new URL("../tests/browser/", import.meta.url))("playwright-core");
const [folder, file, seconds] = process.argv.slice(2);

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-dev-shm-usage", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--allow-file-access-from-files"] });
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
let told = "";
page.on("dialog", (dialog) => {
  told = dialog.message();
  void dialog.dismiss();
});
page.on("console", (message) => message.type() === "error" && (told = message.text()));
page.on("pageerror", (error) => (told = error.message));
const crashed = new Promise((resolve) => page.on("crash", () => resolve("the tab crashed")));

await page.goto(pathToFileURL(path.join(folder, "node_modules/speedscope/dist/release/index.html")).href);
const chooser = page.locator("input[type=file]").first();
await chooser.waitFor({ state: "attached" });
const begin = performance.now();
const end = begin + Number(seconds) * 1000;

/** Its views have buttons, among them "Sandwich"; its messages of failure do not. */
async function shown() {
  await chooser.setInputFiles(file);
  while (performance.now() < end) {
    const text = await page.evaluate(() => document.body.innerText);
    if (text.includes("Sandwich")) {
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      return null;
    }
    if (/went wrong|unrecognized|failed/i.test(text)) {
      return text.trim().split("\n")[0];
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return `not within ${seconds} s`;
}

const failure = await Promise.race([shown().catch((error) => error.message.split("\n")[0]), crashed]);
console.log(JSON.stringify({ seconds: (performance.now() - begin) / 1000, failure, told }));
await browser.close().catch(() => undefined);
