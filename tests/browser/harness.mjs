// SPDX-License-Identifier: Apache-2.0
// Programs for the tests of the page, one browser, and TAP. What is started here ends with the tests, by pid.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";

export const DEADLINE_MS = Number(process.env.JESCOPE_DEADLINE ?? 60) * 1000;
const BUILD = process.env.JESCOPE_BUILD;
export const JESCOPE = path.join(BUILD, "src/cli/jescope");

const started = [];
let number = 0;
let failed = 0;

export function skipAll(why) {
  console.log(`1..0 # SKIP ${why}`);
  process.exit(0);
}

/** Whether the page is part of this jescope. */
export function isBuilt(server) {
  return fetch(server + "/", { headers: { Accept: "text/html" } }).then((answer) => answer.text()).then((text) => text.includes("/assets/page-"));
}

export async function test(name, run) {
  number++;
  try {
    await run();
    console.log(`ok ${number} - ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${number} - ${name}`);
    String(error?.stack ?? error).split("\n").slice(0, 40).forEach((line) => console.log(`# ${line}`));
  }
}

export function finish() {
  console.log(`1..${number}`);
  return failed === 0 ? 0 : 1;
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The first true value of CONDITION(). */
export async function waitFor(condition, what) {
  const end = Date.now() + DEADLINE_MS;
  for (;;) {
    const value = await condition();
    if (value) {
      return value;
    }
    if (Date.now() > end) {
      throw new Error(`not within ${DEADLINE_MS / 1000} s: ${what}`);
    }
    await sleep(20);
  }
}

export function makeFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "jescope-page-"));
  fs.chmodSync(folder, 0o711);
  fs.mkdirSync(path.join(folder, "agents"), { mode: 0o700 });
  return folder;
}

function environment(folder) {
  return { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", HOME: folder, TZ: "UTC", LC_ALL: "C.UTF-8", JESCOPE_SOCKET_DIR: path.join(folder, "agents") };
}

export function start(folder, command, log = "ignore") {
  const errors = log === "ignore" ? "ignore" : fs.openSync(path.join(folder, log), "a");
  const child = spawn(command[0], command.slice(1), { env: environment(folder), cwd: folder, stdio: ["pipe", errors, errors] });
  started.push(child);
  return child;
}

export async function stop(child) {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), 20000);
    await ended;
    clearTimeout(late);
  }
}

export async function stopAll(folder) {
  for (const child of started.reverse()) {
    await stop(child);
  }
  fs.rmSync(folder, { recursive: true, force: true });
}

export function freePort() {
  return new Promise((resolve) => {
    const holder = net.createServer();
    holder.listen(0, "127.0.0.1", () => {
      const { port } = holder.address();
      holder.close(() => resolve(port));
    });
  });
}

/** A Redis under "jescope run", with something in it; Debian's redis-tools carries the server in redis-check-rdb. */
export class Redis {
  constructor(folder) {
    this.socket = path.join(folder, "redis.sock");
    const program = path.join(folder, "redis-server");
    fs.symlinkSync(fs.realpathSync("/usr/bin/redis-check-rdb"), program);
    this.runner = start(folder, [JESCOPE, "run", "--sample=16KiB", "--", program, "--port", "0", "--unixsocket", this.socket, "--save", "", "--dir", folder], "redis.log");
  }

  ask(...words) {
    return spawnSync("redis-cli", ["-s", this.socket, ...words], { encoding: "utf8", timeout: DEADLINE_MS }).stdout;
  }

  async ready() {
    await waitFor(() => this.ask("ping").trim() === "PONG", "redis answers");
    return this;
  }

  /** COUNT values of SIZE bytes. */
  fill(prefix, count, size) {
    this.ask("eval", `for i=1,${count} do redis.call('set','${prefix}'..i,string.rep('x',${size})) end return 1`, "0");
  }
}

/** A program under "jescope run" whose name is NAME (15 bytes at most). */
export function named(folder, name) {
  const program = path.join(folder, name);
  fs.symlinkSync("/bin/sleep", program);
  return start(folder, [JESCOPE, "run", "--", program, "1000"]);
}

/** A C++ service with names of thousands of characters; not under "jescope run": the agent is attached later. */
export class Templates {
  static program = path.join(BUILD, "tests/victims/templates");

  constructor(folder) {
    this.folder = folder;
    this.socket = path.join(folder, "templates.sock");
    const library = fs.readdirSync("/usr/lib", { recursive: false }).map((name) => `/usr/lib/${name}/libjemalloc.so.2`).find((file) => fs.existsSync(file));
    this.process = start(folder, ["/usr/bin/env", `LD_PRELOAD=${library}`, "MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:14", Templates.program, this.socket], "templates.log");
  }

  /** Has it keep COUNT shelves more; resolves to how many it has. */
  keep(count) {
    return new Promise((resolve, reject) => {
      const connection = net.connect(this.socket, () => connection.write(String(count)));
      let text = "";
      connection.on("data", (part) => (text += part));
      connection.on("error", reject);
      connection.on("end", () => resolve(Number(text)));
    });
  }

  async ready() {
    await waitFor(() => this.keep(1).catch(() => 0), "the service answers");
    return this;
  }

  /** Keeps shelves until the result is called, which waits for the last one. */
  load() {
    let stopped = false;
    const running = (async () => {
      while (!stopped) {
        await this.keep(5);
        await sleep(5);
      }
    })();
    return async () => {
      stopped = true;
      await running;
    };
  }
}

/** The processes whose agents listen in FOLDER. */
function agents(folder) {
  const sockets = fs.readdirSync(path.join(folder, "agents")).filter((name) => name.endsWith(".sock"));
  return sockets.map((name) => name.split(".")[0]).filter((pid) => fs.existsSync(`/proc/${pid}`));
}

/** Serves the programs of FOLDER by their pids: other tests run programs of the same names at the same time. */
export class Server {
  constructor(folder, port, options = []) {
    this.folder = folder;
    this.url = `http://127.0.0.1:${port}`;
    this.command = [JESCOPE, "serve", `--listen=127.0.0.1:${port}`, "--every=1s", ...options];
  }

  /** Waits for COUNT programs. */
  async start(count = 1) {
    await waitFor(() => agents(this.folder).length >= count, "agents listen");
    this.process = start(this.folder, [...this.command, ...agents(this.folder)], "serve.log");
    await waitFor(() => fetch(`${this.url}/healthz`).then(() => true, () => this.process.exitCode !== null), "serve answers");
    return this;
  }

  async get(rest, options) {
    const answer = await fetch(this.url + rest, options);
    if (!answer.ok) {
      throw new Error(`${rest}: ${answer.status} ${await answer.text()}`);
    }
    return answer.json();
  }
}
