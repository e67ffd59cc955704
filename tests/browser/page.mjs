// SPDX-License-Identifier: Apache-2.0
// The page in Chromium, on a Redis that is loaded meanwhile: one browser for everything.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { DEADLINE_MS, JESCOPE, Redis, Server, Templates, finish, freePort, isBuilt, makeFolder, named, skipAll, start, stop, stopAll, test, waitFor } from "./harness.mjs";

const CHROMIUM = "/usr/bin/chromium";
const require = createRequire(import.meta.url);

function need(module, file) {
  try {
    return { loaded: require(module), path: file ? require.resolve(file) : "" };
  } catch {
    skipAll(`${module} is not installed: scripts/install-deps test`);
  }
}

if (!fs.existsSync(CHROMIUM)) {
  skipAll("chromium is not installed: scripts/install-deps test");
}
if (!fs.existsSync("/usr/bin/redis-check-rdb")) {
  skipAll("redis-server is not installed (Debian: redis-tools)");
}
const { chromium } = need("playwright-core").loaded;
const axe = fs.readFileSync(need("axe-core", "axe-core/axe.min.js").path, "utf8");

// All of a process's: errors, and requests to anywhere else.
const troubles = [];
// Where pictures of the views are kept, if anywhere.
const pictures = process.env.JESCOPE_PICTURES;

function assert(condition, text) {
  if (!condition) {
    throw new Error(text);
  }
}

function equal(found, wanted, text) {
  assert(JSON.stringify(found) === JSON.stringify(wanted), `${text}: ${JSON.stringify(found)} is not ${JSON.stringify(wanted)}`);
}

const folder = makeFolder();
let status = 1;
try {
  const redis = await new Redis(folder).ready();
  redis.fill("a", 3000, 300);
  const hostile = named(folder, "<b>\u202ex\u0007");
  named(folder, "other-program");
  const server = await new Server(folder, await freePort()).start(3);
  if (!await isBuilt(server.url)) {
    skipAll("jescope was built without the page: esbuild is not installed");
  }
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"] });
  try {
    await run({ redis, hostile, server, browser });
  } finally {
    await browser.close();
  }
  status = finish();
} finally {
  await stopAll(folder);
}
process.exit(status);

/** A page of its own, of which every error and every request elsewhere is noted. */
async function open(browser, server, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  // A target that has just come has no history yet, and one that ends while the list is drawn has none any more.
  const always = [/ (404 \(Not Found\)|410 \(Gone\)) \S*\/series\?metric=/];
  const note = (text) => [...always, ...context.expected ?? []].some((pattern) => pattern.test(text)) || troubles.push(text);
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && note(`console: ${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => note(`error: ${error.message}`));
  page.on("request", (request) => new URL(request.url()).origin === server.url || request.url().startsWith("data:") || note(`elsewhere: ${request.url()}`));
  return page;
}

async function picture(page, name) {
  if (pictures) {
    fs.mkdirSync(pictures, { recursive: true });
    await page.screenshot({ path: path.join(pictures, `${name}.png`) });
  }
}

/** What axe finds in PAGE, in both themes. The policy of the page forbids scripts of others: axe runs in an isolated world. */
async function accessible(page, view) {
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id, worldName: "axe" });
  const evaluate = (expression) => session.send("Runtime.evaluate", { expression, contextId: executionContextId, awaitPromise: true, returnByValue: true });
  await evaluate(axe);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const { result, exceptionDetails } = await evaluate(
      "axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.map((one) => one.id + ': ' + one.nodes.slice(0, 3).map((node) => node.html.slice(0, 150) + ' ' + node.any.map((check) => check.message).join('; ')).join(' | ')))");
    assert(exceptionDetails === undefined, `axe: ${JSON.stringify(exceptionDetails)}`);
    equal(result.value, [], `axe on ${view}, ${colorScheme}`);
  }
  await session.detach();
  await page.emulateMedia({ colorScheme: null });
}

/** Whether nothing is wider than the window. */
function noSideways(page) {
  return page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
}

/** Waits for jescope with WORDS to end well. */
async function runJescope(folder, words) {
  const child = start(folder, [JESCOPE, ...words], "jescope.log");
  await waitFor(() => child.exitCode !== null, `jescope ${words[0]} has ended`);
  assert(child.exitCode === 0, `jescope ${words.join(" ")}: ${child.exitCode}`);
}

async function run({ redis, hostile, server, browser }) {
  const page = await open(browser, server);
  const targets = (await server.get("/api/v1/targets")).targets;
  const id = targets.find((target) => target.name === "redis-server").unique;

  await test("targets: listed with names as text, sorted and searched by the address", async () => {
    await page.goto(`${server.url}/`);
    const row = page.locator("tbody tr", { hasText: "redis-server" });
    await row.getByText(/MiB/).first().waitFor();
    await page.getByText("<b>?x?").waitFor();
    await row.locator("svg.trend path").waitFor({ state: "attached" });
    await page.getByRole("button", { name: "Allocated" }).click();
    const order = await page.locator("tbody tr th").allTextContents();
    assert(order[0] === "redis-server" && page.url().includes("sort=-allocated"), `${order} ${page.url()}`);
    await page.keyboard.press("/");
    await page.keyboard.type("redis");
    await waitFor(async () => await page.locator("tbody tr").count() === 1, "the list is searched");
    const other = await open(browser, server, { viewport: { width: 360, height: 640 }, colorScheme: "dark" });
    await other.goto(page.url());
    await waitFor(async () => await other.locator("tbody tr").count() === 1, "the link shows the same");
    assert(await noSideways(other), "fits 360 pixels");
    await other.context().close();
    await picture(page, "targets");
    await accessible(page, "the targets");
  });

  await test("targets: come and go without a reload", async () => {
    await page.goto(`${server.url}/`);
    await page.getByText("<b>?x?").waitFor();
    await stop(hostile);
    await waitFor(async () => await page.getByText("<b>?x?").count() === 0, "the row of the target that ended is gone");
  });

  await test("a target: a recording shows its progress, is stopped, and keeps a dump", async () => {
    await page.getByRole("link", { name: "redis-server" }).click();
    await page.getByRole("heading", { name: "redis-server" }).waitFor();
    await page.getByRole("combobox", { name: "for" }).first().selectOption("5m");
    await page.getByRole("button", { name: "Record", exact: true }).click();
    await page.getByText(/^Recording: .* left\.$/).waitFor();
    const resident = page.locator("tr", { hasText: "jemalloc: resident" }).locator("td").first();
    const before = await resident.getAttribute("title");
    redis.fill("b", 6000, 1000);
    await waitFor(async () => await resident.getAttribute("title") !== before, "resident follows the load");
    await page.getByRole("button", { name: "Stop the recording" }).click();
    await page.getByRole("link", { name: "Dump 1" }).waitFor();
    await waitFor(async () => !await page.locator("progress").isVisible(), "the recording has ended");
  });

  await test("a target: history with marks, dumps, purge, arenas and events", async () => {
    await waitFor(async () => (await page.locator("svg.chart path.line3").getAttribute("d"))?.includes("L"), "the chart has a line");
    await page.getByRole("button", { name: "Dump now" }).click();
    await page.getByText("Dump 2 is kept.").waitFor();
    await page.getByRole("link", { name: "Dump 2" }).waitFor();
    await waitFor(async () => await page.locator("text.mark", { hasText: "D" }).count() > 1, "the dumps are marked in the chart");
    await page.getByRole("button", { name: "Purge" }).click();
    await page.getByText(/^Purged: resident .* before/).waitFor();
    await page.locator("ol.plain li", { hasText: "recording ended" }).waitFor();
    await page.locator("table.heat td").first().waitFor();
    await page.getByRole("button", { name: "Take the ledger" }).click();
    await page.getByRole("row", { name: /^live / }).waitFor();
    await page.getByRole("combobox", { name: "Time to watch" }).selectOption("10");
    await page.getByRole("button", { name: "Diagnose" }).click();
    await page.getByText(/^Watching for another/).waitFor();
    await page.getByRole("button", { name: "Stop the diagnosis" }).click();
    await waitFor(async () => await page.getByRole("button", { name: "Diagnose" }).isEnabled(), "the diagnosis has been stopped");
    await page.getByRole("button", { name: "Diagnose" }).click();
    await page.getByText(/^Watched for \d+/).waitFor();
    const findings = await page.locator("article.finding").count();
    assert(findings > 0 || await page.getByText("No cause for concern was found").isVisible(), "causes, or that there is none");
    assert(findings === await page.locator("article.finding", { hasText: "Advice: " }).count(), "each with advice");
    await page.reload();
    await page.locator("ol.plain li", { hasText: "recording ended" }).waitFor();
    await page.locator("table.heat td").first().waitFor();
    await picture(page, "target");
    await accessible(page, "a target");
    await page.setViewportSize({ width: 600, height: 800 });
    assert(await noSideways(page), "fits 600 pixels");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  await test("a target: the keyboard alone zooms the history and reads arenas", async () => {
    const stage = page.getByRole("group", { name: /Memory over time/ });
    await stage.focus();
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("+");
    assert(/from=\d/.test(page.url()), page.url());
    await page.keyboard.press("0");
    assert(!/from=/.test(page.url()), page.url());
    await page.locator("table.heat td[tabindex='0']").focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText(/^arena \d+, class .* objects/).last().waitFor();
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "In this view" }).waitFor();
    await page.keyboard.press("Escape");
    await page.keyboard.press("g");
    await page.getByRole("heading", { name: "Targets" }).waitFor();
  });

  const flame = page.getByRole("group", { name: /^Flame graph/ });
  const details = page.locator("p.details");
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute("role"));

  await test("a profile: graph and functions, and its link shows the same elsewhere", async () => {
    await page.goto(`${server.url}/?view=target&target=${id}`);
    await page.getByRole("link", { name: "Dump 1", exact: true }).click();
    await page.getByRole("grid", { name: "Functions" }).getByRole("row").nth(2).waitFor();
    const shownBy = async (one) => [await one.locator("p.facts").textContent(), await one.locator(".notes li").allTextContents(), await one.locator(".crumbs").textContent(),
      await one.getByRole("grid", { name: "Functions" }).getByRole("row").allTextContents()];
    assert(/bytes in use: .* ± .* stacks .* one sample every 16.0 KiB/.test(await page.locator("p.facts").textContent()), await page.locator("p.facts").textContent());
    assert((await page.locator(".notes li").allTextContents()).some((note) => /explains .* %? ?± /.test(note) || note.includes("explains")), "coverage is in sight");
    await flame.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await waitFor(() => /zoom=[0-9a-f]{16}/.test(page.url()), "the zoom is in the address");
    await page.locator(".crumbs a").nth(1).waitFor();
    const drawn = await page.locator(".flame canvas").evaluate((canvas) => new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size);
    assert(drawn > 20, `the canvas has ${drawn} different bytes`);
    const other = await open(browser, server);
    await other.goto(page.url());
    await other.locator(".crumbs a").nth(1).waitFor();
    await waitFor(async () => JSON.stringify(await shownBy(other)) === JSON.stringify(await shownBy(page)), "the link shows the same");
    await other.context().close();
    await picture(page, "profile");
    await accessible(page, "a profile");
    await page.setViewportSize({ width: 600, height: 800 });
    await page.emulateMedia({ colorScheme: "dark" });
    assert(await noSideways(page), "fits 600 pixels");
    await picture(page, "profile-narrow-dark");
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: null });
  });

  await test("links: a search that takes exponential time leaves the page usable, on the server, in a sandbox and from a file", async () => {
    const file = path.join(folder, "searched.html");
    const report = `${server.url}/api/v1/targets/${id}/dumps/1?format=html`;
    fs.writeFileSync(file, await (await fetch(report)).text());
    const addresses = [`${server.url}/?view=profile&target=${id}&`, `${report}#`, `file://${file}#`];
    for (const address of addresses) {
      const other = await browser.newPage();
      other.setDefaultTimeout(DEADLINE_MS);
      await other.goto(`${address}q=${encodeURIComponent("^(\\w|\\W|.)*\u0001")}`);
      await other.getByText(/takes too long to match/).waitFor();
      await other.getByRole("searchbox", { name: "Search" }).fill("main");
      await other.getByText(/of what is shown\. n and N|Matches are highlighted/).waitFor();
      await other.evaluate(() => document.activeElement.blur());
      await other.keyboard.press("n");
      await waitFor(async () => /main/.test(await other.locator("p.details").textContent()), "the next match is described");
      await other.close();
    }
  });

  await test("a profile: the keyboard alone searches, walks, focuses, inverts and finds callers", async () => {
    await page.keyboard.press("0");
    await waitFor(() => !page.url().includes("zoom="), "zoomed out");
    await page.keyboard.press("/");
    await page.keyboard.type("main");
    await page.getByText(/of what is shown\. n and N/).waitFor();
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("n");
    await waitFor(async () => /main/.test(await details.textContent()), "the next match is described");
    await page.keyboard.press("s");
    await page.getByRole("group", { name: /^Callers of .*main/ }).waitFor();
    await page.getByRole("group", { name: /^Callees of .*main/ }).waitFor();
    await page.keyboard.press("Escape");
    await flame.waitFor();
    await page.keyboard.press("t");
    const tree = page.getByRole("treegrid", { name: "Call tree" });
    await tree.locator("[role=row][tabindex='0']").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    equal(await focused(), "row", "the focus roves in the tree");
    const before = await tree.getByRole("row").count();
    await page.keyboard.press("ArrowLeft");
    await waitFor(async () => await tree.getByRole("row").count() < before, "the row is closed");
    assert(/±.*%/.test(await details.textContent()), await details.textContent());
    await accessible(page, "the tree");
    await page.keyboard.press("f");
    await waitFor(() => page.url().includes("focus="), "the focus is in the address");
    await page.locator(".profile:not([aria-busy])").waitFor();
    assert(/: .* ± .* · [0-9]+ stacks/.test(await page.locator("p.facts").textContent()), await page.locator("p.facts").textContent());
    await page.keyboard.press("i");
    await waitFor(() => page.url().includes("callers=true"), "inverted");
    await page.getByRole("button", { name: "Reset" }).click();
    await waitFor(() => !/focus=|callers=/.test(page.url()), "everything is reset");
    await page.getByRole("button", { name: "Stacks" }).click();
    await page.locator("ol.stacks li").first().waitFor();
    await page.getByRole("button", { name: "Functions" }).click();
  });

  await test("a profile: bad input is said in the page, and what is there stays", async () => {
    page.context().expected = [/400|404/];
    await page.getByRole("textbox", { name: /^Focus/ }).fill("(");
    await page.keyboard.press("Enter");
    await page.locator(".profile > .error").getByText(/focus|regular expression/i).waitFor();
    await page.getByRole("button", { name: "Reset" }).click();
    await waitFor(async () => !await page.locator(".profile > .error").isVisible(), "the error is gone");
    await page.getByRole("textbox", { name: /^Thread/ }).fill("no-such-thread");
    await page.keyboard.press("Enter");
    await page.locator(".profile > .error").getByText("has no thread 'no-such-thread'").waitFor();
    const dump = await (await fetch(`${server.url}/api/v1/targets/${id}/dumps/1`)).text();
    await page.getByRole("textbox", { name: /^Thread/ }).fill(/^ {2}t(\d+): /m.exec(dump)[1]);
    await page.keyboard.press("Enter");
    await waitFor(async () => !await page.locator(".profile > .error").isVisible(), "what a thread has allocated");
    await page.goto(`${server.url}/?view=profile&target=${id}&dump=999`);
    await page.locator(".profile > .error").getByText("999").waitFor();
    await page.getByRole("link", { name: "Back" }).click();
    await page.getByRole("heading", { name: "redis-server" }).waitFor();
    page.context().expected = [];
  });

  await test("two dumps compared: what is within the error is said to be", async () => {
    redis.fill("c", 9000, 2000);
    await page.getByRole("button", { name: "Sample", exact: true }).click();
    await page.getByText(/Sampling is on for another/).waitFor();
    redis.fill("d", 9000, 2000);
    await page.getByRole("button", { name: "Dump now" }).click();
    await page.getByRole("link", { name: "Dump 3", exact: true }).waitFor();
    await page.getByRole("button", { name: "End the lease" }).click();
    await page.getByRole("link", { name: "Dump 3", exact: true }).click();
    await page.getByRole("grid", { name: "Functions" }).waitFor();
    await page.keyboard.press("d");
    await page.getByText("within the sampling error").waitFor();
    await waitFor(async () => await page.locator(".grid .grown").count() > 0, "something has grown significantly");
    assert(/^\+.* ± .* since /.test(await page.locator("p.facts").textContent()), await page.locator("p.facts").textContent());
    await picture(page, "compare");
    await accessible(page, "a comparison");
    await page.keyboard.press("d");
    await waitFor(() => !page.url().includes("base="), "the comparison ends");
  });

  await test("two processes compared: of the same user, by the address, and what a dump explains is in the list", async () => {
    const other = (await server.get("/api/v1/targets")).targets.find((target) => target.name === "other-program");
    const title = `of other-program (${other.pid})`;
    const own = await server.get(`/api/v1/targets/${other.id}/dumps`, { method: "POST" });
    await page.goto(`${server.url}/?view=profile&target=${id}&dump=3`);
    await page.getByRole("combobox", { name: "Base of which process" }).selectOption({ label: title });
    await waitFor(() => page.url().includes(`base=${own.id}`), "its newest dump is chosen");
    await page.getByText("within the sampling error").waitFor();
    await waitFor(async () => (await page.locator("p.facts").textContent()).includes(title), "the facts say of which process");
    assert(/^\+.* ± .* since /.test(await page.locator("p.facts").textContent()), await page.locator("p.facts").textContent());
    await page.locator(".grid .grown").first().waitFor();
    const reader = await open(browser, server);
    await reader.goto(page.url());
    await waitFor(async () => await reader.locator("p.facts").textContent() === await page.locator("p.facts").textContent(), "the link shows the same");
    await reader.context().close();
    await accessible(page, "a comparison of two processes");
    await page.getByRole("combobox", { name: "Base of which process" }).selectOption("");
    await waitFor(() => !/base=|of=/.test(page.url()), "the comparison ends");
    await page.goto(`${server.url}/`);
    await page.locator("tbody tr", { hasText: "redis-server" }).getByText(/^[0-9.]+.?%$/).waitFor();
    assert(await page.locator("tbody tr", { hasText: "other-program" }).getByText("%").count() === 0, "no dump of it was looked at");
  });

  await test("growth over all kept dumps: what grows, its interval and verdict, and its link", async () => {
    await page.goto(`${server.url}/?view=target&target=${id}`);
    await page.getByRole("link", { name: "Growth over all kept dumps" }).click();
    await page.getByRole("heading", { name: /^Growth of/ }).waitFor();
    const rows = page.locator("table.list tbody tr");
    await rows.first().waitFor();
    assert(/3 dumps/.test(await page.locator("p.facts").textContent()), await page.locator("p.facts").textContent());
    const text = await rows.first().textContent();
    assert(/(growing|one-off|plateau|filling).*\+.*iB\/h.*iB to \+?.*iB/.test(text), text);
    await rows.first().locator("svg.trend path").waitFor({ state: "attached" });
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("t");
    await waitFor(() => page.url().includes("show=stacks"), "stacks are in the address");
    await rows.first().locator(".stack, summary").first().waitFor();
    await page.getByRole("checkbox", { name: /sampling explains/ }).check();
    const other = await open(browser, server, { viewport: { width: 600, height: 800 }, colorScheme: "dark" });
    await other.goto(page.url());
    await waitFor(async () => JSON.stringify(await other.locator("table.list tbody tr").allTextContents()) === JSON.stringify(await rows.allTextContents()), "the link shows the same");
    assert(await noSideways(other), "fits 600 pixels");
    await other.context().close();
    await picture(page, "growth");
    await accessible(page, "growth");
    await page.keyboard.press("/");
    await page.keyboard.type("no_such_function_at_all");
    await page.keyboard.press("Enter");
    await page.getByText("the filters match nothing in any of the dumps").waitFor();
    page.context().expected = [/400/];
    await page.getByRole("textbox", { name: /^Focus/ }).fill("(");
    await page.keyboard.press("Enter");
    await page.locator(".error").getByText(/regular expression/).waitFor();
    page.context().expected = [];
    await page.getByRole("button", { name: "Reset" }).click();
    await waitFor(async () => !await page.locator("p.error").isVisible(), "the error is gone");
    await rows.first().getByRole("link", { name: /^Change of/ }).click();
    await page.getByText("within the sampling error").waitFor();
  });

  await test("files: dropped or chosen, opened by the same views, compared, kept only if asked", async () => {
    const at = (number) => path.join(folder, `hand-${number}.heap`);
    const text = (objects) => ["--- symbol", "binary=/bin/app", "0x1000 malloc", "0x2000 <b>grows", "0x3000 stays", "0x4000 main", "---", "--- heap",
      `heap profile: ${objects + 50}: ${(objects + 50) * 1000} [0: 0] @ heapprofile`, `${objects}: ${objects * 1000} [0: 0] @ 0x1000 0x2000 0x4000`,
      "50: 50000 [0: 0] @ 0x1000 0x3000 0x4000", "", "MAPPED_LIBRARIES:", "00001000-00100000 r-xp 00000000 08:01 17 /bin/app", ""].join("\n");
    [[1, 100], [2, 5000]].forEach(([number, objects]) => {
      fs.writeFileSync(at(number), text(objects));
      fs.utimesSync(at(number), 1.7e9 + number * 3600, 1.7e9 + number * 3600);
    });
    await page.goto(`${server.url}/`);
    await page.evaluate((content) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], "dropped <i>.heap", { lastModified: 1.7e12 }));
      document.dispatchEvent(new DragEvent("dragover", { dataTransfer: transfer, bubbles: true }));
      document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true }));
    }, text(300));
    await page.getByRole("heading", { name: "dropped <i>.heap" }).waitFor();
    await page.getByRole("grid", { name: "Functions" }).getByText("<b>grows").waitFor();
    await page.getByText("Forgotten 15 min after it was last looked at.").waitFor();
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByLabel("Heap dumps").setInputFiles([at(2), at(1)]);
    await page.getByRole("heading", { name: /^hand-2\.heap.*change/ }).waitFor();
    await page.getByText("within the sampling error").waitFor();
    assert(await page.locator(".grid .grown").count() > 0, "the newer one has more");
    const other = await open(browser, server);
    await other.goto(page.url());
    await other.getByRole("heading", { name: /^hand-2\.heap.*change/ }).waitFor();
    await other.context().close();
    assert((await server.get("/api/v1/files")).files.length === 0, "nothing is kept");
    await page.getByRole("button", { name: "Keep" }).click();
    await page.getByText("Kept until the server ends.").waitFor();
    await picture(page, "file");
    await accessible(page, "a file");
    await page.getByRole("link", { name: "Files" }).click();
    await page.getByRole("link", { name: "hand-2.heap" }).waitFor();
    await accessible(page, "files");
    await page.getByRole("button", { name: "Forget hand-2.heap" }).click();
    await waitFor(async () => !await page.getByRole("link", { name: "hand-2.heap" }).isVisible(), "it is forgotten");
    page.context().expected = [/422|404/];
    await page.getByLabel("Heap dumps").setInputFiles({ name: "not a dump", mimeType: "text/plain", buffer: Buffer.from("hello\n") });
    await page.locator(".profile > .error").getByText("send a heap dump of jemalloc or gperftools").waitFor();
    await page.goto(`${server.url}/?view=file&file=17`);
    await page.locator(".profile > .error").getByText("no such file: 17").waitFor();
    await page.getByRole("link", { name: "Back" }).click();
    await page.getByRole("heading", { name: "Files" }).waitFor();
    page.context().expected = [];
  });

  await test("a C++ service with deep templates under load: attached, recorded, its names are readable, by size class and by thread", async () => {
    if (!fs.existsSync(Templates.program)) {
      throw new Error("the program was not built: a C++ compiler is missing (scripts/install-deps test)");
    }
    const own = makeFolder();
    let second = null;
    try {
      const service = await new Templates(own).ready();
      await runJescope(own, ["attach", String(service.process.pid)]);
      second = await new Server(own, await freePort()).start();
      const unload = service.load();
      const view = await open(browser, second);
      await view.goto(`${second.url}/`);
      await view.getByRole("link", { name: "templates" }).click();
      await view.getByRole("button", { name: "Record", exact: true }).click();
      await view.getByText(/^Recording: .* left\.$/).waitFor();
      await service.keep(3000);
      await view.getByRole("button", { name: "Stop the recording" }).click();
      await view.getByRole("link", { name: "Dump 1" }).waitFor();
      await unload();
      // The keyboard reaches the link, and the profile is asked for while it has the focus.
      const begun = view.waitForRequest((request) => request.url().includes("format=page"));
      await view.getByRole("link", { name: "Dump 1", exact: true }).focus();
      await begun;
      await view.keyboard.press("Enter");
      const table = view.getByRole("grid", { name: "Functions" });
      await table.getByRole("row").nth(3).waitFor();
      const rows = await table.getByRole("row").allTextContents();
      assert(rows.some((row) => row.includes("fill")), `the function that holds: ${rows.slice(0, 5)}`);
      const { frames } = await second.get(`/api/v1/targets/${service.process.pid}/dumps/1?format=page&part=whole`);
      const longest = Math.max(...frames.full.map((text) => text?.length ?? 0));
      assert(longest > 3000, `the longest name in full has ${longest} characters`);
      assert(Math.max(...frames.name.map((text) => text.length)) < longest, "names are short where they tell apart");
      assert(await noSideways(view), "long names fit");
      await picture(view, "templates");
      await view.getByRole("combobox", { name: "Group by" }).selectOption({ label: "threads" });
      const threads = view.getByRole("grid", { name: "Threads" });
      await threads.getByRole("row", { name: /^thread \d+/ }).nth(1).waitFor();
      await view.getByRole("combobox", { name: "Group by" }).selectOption({ label: "size classes" });
      await view.getByRole("grid", { name: "Size classes" }).getByRole("row", { name: /^size class 2 KiB, / }).waitFor();
      const reader = await open(browser, second, { viewport: { width: 360, height: 640 }, colorScheme: "dark" });
      await reader.goto(view.url());
      await reader.getByRole("grid", { name: "Size classes" }).getByRole("row", { name: /^size class 2 KiB, / }).waitFor();
      assert(await noSideways(reader), "fits 360 pixels");
      await picture(reader, "sizes-narrow-dark");
      await reader.context().close();
      await picture(view, "sizes");
      await accessible(view, "a profile by size class");
      await view.getByRole("grid", { name: "Size classes" }).getByRole("row", { name: /^size class 2 KiB, / }).click();
      await view.keyboard.press("f");
      await waitFor(() => new URL(view.url()).searchParams.get("focus") === "^size class 2 KiB$", "the focus is on the class");
      await waitFor(async () => await view.getByRole("grid", { name: "Size classes" }).getByRole("row").count() === 2, "the head and one class");
      await view.context().close();
    } finally {
      if (second !== null) {
        await stop(second.process);
      }
    }
  });

  await test("a target that is not there is an error in the page", async () => {
    page.context().expected = [/404/];
    await page.goto(`${server.url}/?view=target&target=999999999`);
    await page.getByRole("heading", { name: "No such target" }).waitFor();
    await page.getByRole("link", { name: "All targets" }).waitFor();
  });

  await test("a target: the page stays with its process, whatever has its name later", async () => {
    const own = makeFolder();
    const program = `twin${process.pid}`;
    const running = [];
    try {
      const names = await new Server(own, await freePort(), [program]).start(0);
      running.push(names.process);
      const come = (gone) => waitFor(async () => (await names.get("/api/v1/targets")).targets.find((one) => one.pid !== gone), "it is listed");
      const first = named(own, program);
      running.push(first);
      const target = await come(0);
      const view = await open(browser, names);
      view.context().expected = [/410 \(Gone\)/];
      await view.goto(`${names.url}/?view=target&target=${program}`);
      await view.getByRole("heading", { name: `${program} (${target.pid})` }).waitFor();
      await waitFor(() => view.url().includes(`target=${target.unique}`), "the address means this process");
      const asked = [];
      view.on("request", (request) => asked.push(`${request.method()} ${new URL(request.url()).pathname}`));
      await stop(first);
      running.push(start(own, [JESCOPE, "run", "--", path.join(own, program), "1000"]));
      const other = await come(target.pid);
      await view.locator(".message.error").getByText("has ended").waitFor();
      await view.getByRole("button", { name: "Record", exact: true }).click();
      await waitFor(() => asked.includes(`POST /api/v1/targets/${target.unique}/recordings`), "a recording of it is asked for");
      await view.getByRole("heading", { name: `${program} (${target.pid})` }).waitFor();
      equal(asked.filter((one) => one.includes("/targets/") && !one.includes(`/targets/${target.unique}`)), [], "requests about another process");
      equal((await names.get(`/api/v1/targets/${other.unique}/recordings`)).recordings, [], "recordings of another process");
      await view.goto(`${names.url}/`);
      const link = view.getByRole("link", { name: program });
      await waitFor(async () => (await link.getAttribute("href")).includes(other.unique), "links mean a process, too");
      await view.context().close();
    } finally {
      await Promise.all(running.map(stop));
      fs.rmSync(own, { recursive: true, force: true });
    }
  });

  await test("a server that restarts: said, and shown again by itself", async () => {
    page.context().expected = [/404|503|ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_NETWORK/];
    await page.goto(`${server.url}/?view=target&target=${id}`);
    await page.getByRole("heading", { name: "redis-server" }).waitFor();
    await stop(server.process);
    await page.getByText("The server does not answer").waitFor();
    await server.start();
    await waitFor(async () => !await page.getByText("The server does not answer").isVisible(), "the page reconnects");
    await page.getByText(/^live, started/).waitFor();
    page.context().expected = [];
  });

  await test("the black box: what it has kept, and the last profile", async () => {
    const box = fs.mkdtempSync(path.join(folder, "box-"));
    const boxed = await new Server(folder, await freePort(), ["--blackbox=all", `--blackbox-dir=${path.join(box, "kept")}`, "--user=root"]).start();
    const watcher = await open(browser, boxed);
    await watcher.goto(`${boxed.url}/`);
    await watcher.getByRole("link", { name: "What the black box has kept" }).click();
    const row = watcher.locator("tbody tr", { hasText: "redis-server" });
    await row.getByText("runs, is watched").waitFor();
    await accessible(watcher, "ended processes");
    await row.getByRole("link", { name: "last profile" }).click();
    await watcher.getByRole("heading", { name: /^Snapshot [0-9]+ of [0-9]+/ }).waitFor();
    await watcher.getByText(/MiB/).first().waitFor();
    await watcher.getByText(/^runs and is watched, .*most: /).waitFor();
    await watcher.context().close();
    await stop(boxed.process);
  });

  await test("a server with tokens: signing in, what a reader may do, signing out", async () => {
    const tokens = path.join(folder, "tokens");
    fs.writeFileSync(tokens, "control control-0123456789abcdef alice\nread read-0123456789abcdef bob\n", { mode: 0o600 });
    const guarded = await new Server(folder, await freePort(), ["--require-token", `--token-file=${tokens}`]).start();
    const reader = await open(browser, guarded);
    reader.context().expected = [/401/];
    await reader.goto(`${guarded.url}/?view=target&target=${id}`);
    await reader.getByLabel("Token").fill("wrong-0123456789abcdef");
    await reader.keyboard.press("Enter");
    await reader.getByText("the token is not one of this server's").waitFor();
    await accessible(reader, "signing in");
    await reader.getByLabel("Token").fill("read-0123456789abcdef");
    await reader.getByRole("button", { name: "Sign in" }).click();
    await reader.getByRole("heading", { name: "redis-server" }).waitFor();
    assert(!reader.url().includes("read-0123456789abcdef"), "no token in the address");
    await reader.getByText("You may only read").waitFor();
    assert(await reader.getByRole("button", { name: "Purge" }).isDisabled(), "a reader cannot purge");
    await reader.getByRole("button", { name: "Sign out" }).click();
    await reader.getByRole("heading", { name: "Sign in" }).waitFor();
    await reader.context().close();
    await stop(guarded.process);
  });

  await test("a file of hostile names: shown as text, on any screen and on paper, without a server", async () => {
    const nested = (depth) => (depth === 0 ? "int" : `std::map<shop::Key<${depth}>, std::vector<${nested(depth - 1)}> >`);
    const names = ["malloc", "main", `shop::Cache<${nested(220)}>::insert(${nested(2)} const&)`, "</script><script>window.hostile = 1</script>",
      "<img src=x onerror='window.hostile = 2'>", "\u202edesrever\u2066", "bell\u0007 and \u001b[31mred", "long_".repeat(2048)];
    assert(names[2].length > 8000 && names[7].length === 10240, "names are long");
    const address = (index) => `0x${(0x1000 * (index + 1)).toString(16)}`;
    const dump = path.join(folder, "hostile.heap");
    fs.writeFileSync(dump, ["--- symbol", "binary=/bin/<b>app", ...names.map((text, index) => `${address(index)} ${text}`), "---", "--- heap",
      "heap profile: 6: 6000 [6: 6000] @ heapprofile", ...names.slice(2).map((_, index) => `1: ${1000 + index} [1: ${1000 + index}] @ ${address(0)} ${address(index + 2)} ${address(1)}`),
      "", "MAPPED_LIBRARIES:", "00001000-00100000 r-xp 00000000 08:01 17 /bin/<b>app", ""].join("\n"));
    const file = path.join(folder, "hostile.html");
    await runJescope(folder, ["report", dump, "-o", file]);
    assert(fs.statSync(file).size < 1 << 20, "less than a megabyte");
    const own = await browser.newContext({ viewport: { width: 3840, height: 2160 } });
    const paper = await own.newPage();
    const seen = [];
    paper.on("request", (request) => request.url() === `file://${file}` || request.url().startsWith("data:") || seen.push(request.url()));
    paper.on("console", (message) => ["error", "warning"].includes(message.type()) && seen.push(message.text()));
    paper.on("pageerror", (error) => seen.push(error.message));
    paper.setDefaultTimeout(DEADLINE_MS);
    await paper.goto(`file://${file}`);
    const rows = paper.getByRole("grid", { name: "Functions" }).getByRole("row");
    await waitFor(async () => await rows.count() >= names.length - 1, "every function has a row");
    const text = (await rows.allTextContents()).join("\n");
    for (const part of ["</script><script>window.hostile = 1</script>", "<img src=x", "desrever", "bell", "shop::Cache<", "long_long_"]) {
      assert(text.includes(part), `${part} is text`);
    }
    assert(!/[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069]/.test(text), "nothing that controls");
    equal(await paper.evaluate(() => [typeof window.hostile, document.querySelectorAll("img, b, script").length]), ["undefined", 2], "no name is markup: the data and the script alone");
    assert(await noSideways(paper), "fits 3840 pixels");
    const drawn = await paper.locator(".flame canvas").first().evaluate((canvas) => canvas.getBoundingClientRect().width);
    assert(drawn > 1000, `the graph uses the width: ${drawn}`);
    await paper.emulateMedia({ media: "print" });
    await paper.setViewportSize({ width: 794, height: 1123 });
    assert(await noSideways(paper), "fits a page of paper");
    assert(await paper.locator(".flame canvas").first().isVisible() && !await paper.getByRole("searchbox").isVisible(), "the graph is printed, the controls are not");
    equal(seen, [], "what happened in the file");
    await own.close();
  });

  await test("the fleet: services, hosts that differ, the profile of a service and its change, of a server with a store alone", async () => {
    const view = await open(browser, server);
    const fleet = view.getByRole("link", { name: "Fleet", exact: true });
    const begun = view.waitForResponse((response) => new URL(response.url()).pathname === "/api/v1/fleet");
    await view.goto(`${server.url}/`);
    equal(await (await begun).json(), { store: false }, "this server has none");
    assert(!await fleet.isVisible(), "nothing leads to a fleet that is not there");
    // What a store answers; each profile is that of one dump.
    const file = path.join(folder, "fleet.page.json");
    await runJescope(folder, ["report", path.join(process.env.JESCOPE_SOURCE, "tests/data/profile/redis-set.heap.gz"), "--format=page", "-o", file]);
    const profile = fs.readFileSync(file, "utf8");
    const evil = "<img src=x>\u202e";
    const group = { processes: 14, hosts: 7, versions: 2, latest: "2026-11-22T10:00:00Z", inuse: 3 << 20, error: 1 << 10, allocated: 4 << 20, resident: 6 << 20 };
    const hosts = [1, 2, 3, 4, 5, 6, 7].map((index) => ({ ...group, name: `node${index}`, per_process: index === 1 ? 5 << 20 : 1 << 20, per_process_error: 1 << 10,
      distance: index === 1 ? 40 : 0.5, outlier: index === 1 }));
    const asked = [];
    const store = async (request) => {
      const url = new URL(request.request().url());
      asked.push(`${url.pathname.slice("/api/v1/fleet".length)}${url.search}`);
      const answers = {
        "": { store: true },
        "/top": { time: group.latest, services: [{ ...group, name: evil, growth: 2 << 20, growth_error: 1 << 10 }, { ...group, name: "other", growth: null, growth_error: null, resident: null }] },
        "/hosts": { time: group.latest, median: 1 << 20, needed_hosts: 6, hosts },
        "/trace": { moments: [0, 1, 2].map((hour) => ({ time: `2026-11-22T0${hour}:00:00Z`, inuse: hour << 20, error: 10, hosts: [{ host: "node1", inuse: hour << 20, error: 10 }] })) },
      };
      const answer = answers[url.pathname.slice("/api/v1/fleet".length)];
      if (answer !== undefined) {
        return request.fulfill({ json: answer });
      }
      return request.fulfill({ contentType: "application/json", body: profile });
    };
    await view.route((url) => url.pathname.startsWith("/api/v1/fleet"), store);
    await view.reload();
    await fleet.click();
    await view.getByRole("row", { name: /other/ }).waitFor();
    await view.getByText("<img src=x>\\u202e").waitFor();
    await accessible(view, "fleet");
    await view.getByLabel("Order").selectOption("growth");
    await waitFor(() => asked.some((one) => one.startsWith("/top?by=growth")), "the order is asked for");
    await view.getByRole("link", { name: /img src/ }).click();
    await view.getByRole("row", { name: /node1.*differs/ }).waitFor();
    equal(await view.getByText("differs from the others").count(), 1, "hosts that differ");
    await view.getByLabel("Function").fill("zmalloc");
    await view.getByRole("button", { name: "Show", exact: true }).click();
    await view.getByRole("img", { name: /in a day/ }).waitFor();
    await accessible(view, "a service");
    assert(await noSideways(view), "a service fits");
    await view.getByRole("textbox", { name: "Version" }).fill("2");
    await view.getByLabel("Compared with").first().selectOption("version:");
    await view.getByRole("textbox", { name: "Compared with" }).fill("1");
    await view.getByRole("button", { name: "Show the profile" }).click();
    await waitFor(() => asked.some((one) => one.startsWith("/diff?") && one.includes("version=2") && one.includes("base-version=1")), "the change is asked for");
    await view.locator(".flame canvas").first().waitFor();
    await view.goBack();
    await view.getByRole("link", { name: "node3" }).click();
    await waitFor(() => asked.some((one) => one.startsWith("/report?") && one.includes("host=node3")), "one host is asked for");
    await view.locator(".flame canvas").first().waitFor();
    await view.context().close();
  });

  // Each would occupy the browser for ten seconds and more, again and again.
  await test("events: without a pause they do not hold up what is shown", async () => {
    for (const [view, asked] of [["", "/api/v1/targets"], [`?view=target&target=${id}`, `/api/v1/targets/${id}`]]) {
      const other = await open(browser, server);
      await other.addInitScript((target) => {
        window.EventSource = class extends EventTarget {
          constructor() {
            super();
            setInterval(() => this.dispatchEvent(new MessageEvent("control", { data: JSON.stringify({ unique: target }) })), 10);
          }
          close() {}
        };
      }, id);
      let refreshes = 0;
      other.on("request", (request) => new URL(request.url()).pathname === asked && refreshes++);
      await other.goto(`${server.url}/${view}`);
      await waitFor(() => refreshes > 4, `${asked} is asked for again`);
      await other.context().close();
    }
  });

  await test("bounds: numbers that a process or another host decides do not occupy the browser", async () => {
    const view = await open(browser, server);
    const many = (count, one) => Array.from({ length: count }, (_, index) => one(index));
    const classes = { jemalloc: { arenas: { bin: many(50000, (index) => ({ size: index + 8, nregs: 9, slab_size: 4096 })), lextent: [] },
      "stats.arenas": { 0: { bins: many(50000, () => ({ curregs: 5, curslabs: 2 })) } } } };
    const group = { processes: 1, hosts: 1, versions: 1, latest: "2026-11-22T10:00:00Z", inuse: 1, error: 1, allocated: 1, resident: 1 };
    await view.route((url) => url.pathname.endsWith("/statistics"), (request) => request.fulfill({ json: classes }));
    await view.route((url) => url.pathname === "/api/v1/fleet/top", (request) => request.fulfill({ json: { time: group.latest,
      services: many(5000, (index) => ({ ...group, name: `s${index}`, growth: 1, growth_error: 1 })) } }));
    await view.route((url) => url.pathname === "/api/v1/fleet/hosts", (request) => request.fulfill({ json: { time: group.latest, median: 1, needed_hosts: 6,
      hosts: many(5000, (index) => ({ ...group, name: `h${index}`, per_process: 1, per_process_error: 1, distance: 0, outlier: false })) } }));
    await view.goto(`${server.url}/?view=target&target=${id}`);
    await view.locator("table.heat td").first().waitFor();
    assert(await view.locator("table.heat td").count() <= 256, "of the classes the first are drawn");
    await view.goto(`${server.url}/?view=fleet`);
    await view.getByText(/^the first 1000 services/).waitFor();
    equal(await view.locator("tbody tr").count(), 1000, "services");
    await view.goto(`${server.url}/?view=fleet&service=s1`);
    await view.getByText("4000 further hosts are not shown.").waitFor();
    equal(await view.locator("tbody tr").count(), 1000, "hosts");
    await view.context().close();
  });

  // Each takes seconds of the browser and gigabytes of its memory.
  await test("sizes: documents above the limit are neither parsed nor asked for again, until the reader asks", async () => {
    const view = await open(browser, server);
    const large = `{"x":[${"[],".repeat(6 << 20)}[]]}`;
    const asked = { large: 0, decay: 0 };
    let isLarge = true;
    await view.route((url) => url.pathname.endsWith("/decay"), (request) => {
      asked.decay++;
      return request.continue();
    });
    await view.route((url) => url.pathname.endsWith("/statistics"), (request) => {
      asked.large++;
      return isLarge ? request.fulfill({ contentType: "application/json", body: large }) : request.continue();
    });
    await view.goto(`${server.url}/?view=target&target=${id}`);
    await view.getByText(/^the answer to .*\/statistics is larger than 8 MiB/).waitFor();
    const before = asked.decay;
    await waitFor(() => asked.decay >= before + 2, "the view is refreshed");
    equal(asked.large, 1, "requests for what is too large");
    isLarge = false;
    await view.getByRole("button", { name: "Try again" }).click();
    await view.locator("table.heat td").first().waitFor();
    for (const [address, suffix] of [["/", "/targets"], ["/?view=ended", "/blackbox"], ["/?view=fleet", "/fleet/top"], ["/?view=fleet&service=s", "/fleet/hosts"],
      [`/?view=growth&target=${id}`, "/growth"], ["/?view=files", "/files"]]) {
      await view.route((url) => url.pathname === `/api/v1${suffix}` || url.pathname.endsWith(`${id}${suffix}`), (request) => request.fulfill({ contentType: "application/json", body: large }));
      await view.goto(`${server.url}${address}`);
      await view.getByText(new RegExp(`^the answer to \\S*${suffix} is larger than 16 MiB`)).first().waitFor();
    }
    await view.context().close();
  });

  await test("stacks: of a very deep one the middle is left out", async () => {
    const view = await open(browser, server);
    const addresses = Array.from({ length: 3000 }, (_, index) => `0x${(0x2000 + index * 16).toString(16)}`);
    const dump = `heap_v2/524288\n  t*: 10: 1048576 [0: 0]\n@ ${addresses.join(" ")}\n  t*: 10: 1048576 [0: 0]\n\nMAPPED_LIBRARIES:\n00001000-10000000 r-xp 00000000 00:00 1 /x\n`;
    const { id: file } = await (await fetch(`${server.url}/api/v1/files?name=deep`, { method: "POST", body: dump, headers: { "Content-Type": "application/octet-stream" } })).json();
    await view.goto(`${server.url}/?view=file&file=${file}&side=stacks&by=address`);
    await view.getByText(/^\d+ frames are not shown$/).waitFor();
    equal(await view.locator("ol.stack li").count(), 257, "rows");
    await view.context().close();
  });

  await test("addresses: a view or an id that is not one leads nowhere else", async () => {
    const view = await open(browser, server);
    const asked = [];
    view.context().expected = [/404 \(Not Found\)/];
    view.on("request", (request) => asked.push(new URL(request.url()).pathname));
    for (const name of ["constructor", "__proto__", "toString"]) {
      await view.goto(`${server.url}/?view=${name}`);
      await view.getByRole("heading", { name: "Targets" }).waitFor();
    }
    for (const state of ["view=target&target=..", "view=growth&target=.", "view=file&file=..", `view=profile&target=${id}&dump=..`]) {
      const before = asked.length;
      await view.goto(`${server.url}/?${state}`);
      await waitFor(() => asked.slice(before).some((path) => /\/-(\/|$)/.test(path)), `${state} is asked for`);
    }
    const strange = asked.filter((path) => ["/api/v1/", "/api/v1/targets/", "/api/v1/dump", `/api/v1/targets/${id}/`].includes(path));
    equal(strange, [], "other paths of the server");
    await view.context().close();
  });

  await test("no error in the console, no request to anywhere else", async () => equal(troubles, [], "what happened"));
}
