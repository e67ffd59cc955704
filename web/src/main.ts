// SPDX-License-Identifier: Apache-2.0
// The page: shows the view named by its address.
import * as api from "./api";
import type { Target } from "./documents";
import { EndedView } from "./ended";
import * as files from "./files";
import { GrowthView } from "./growth";
import { announce, fleetSource, fleetView, partOf } from "./fleet";
import * as keys from "./keys";
import * as live from "./live";
import { dumpSource, fileSource, ProfileView, sentSource } from "./profile";
import * as route from "./route";
import * as session from "./session";
import * as shell from "./shell";
import { TargetView } from "./target";
import { TargetsView } from "./targets";

const SIGN_IN = "sign in";

type Maker = (state: route.State) => shell.View;

const makers = new Map(Object.entries<Maker>({
  targets: () => new TargetsView(),
  ended: () => new EndedView(),
  target: (state) => new TargetView(state),
  growth: (state) => new GrowthView(state),
  files: () => new files.FilesView(),
  file: (state) => new ProfileView(sentSource(state)),
  fleet: fleetView,
  profile: (state) => new ProfileView(state.fleet !== undefined ? fleetSource(state) : dumpSource(state)),
}));

let present: { identity: string; view: shell.View } | null = null;

/** The part of a state that identifies a view; other parts are states of the same view. */
function identityOf(state: route.State): string {
  return `${state.view ?? "targets"} ${state.target ?? state.ended ?? state.file ?? state.service ?? ""} ${state.dump ?? ""} ${partOf(state)}`;
}

function put(identity: string, view: shell.View): void {
  const isFirst = present === null;
  present = { identity, view };
  shell.show(view);
  if (!isFirst) {
    shell.focusView();
  }
}

function draw(state: route.State): void {
  const identity = identityOf(state);
  if (present !== null && present.identity === identity && present.view.update?.(state) === true) {
    return;
  }
  if (present?.identity === SIGN_IN) {
    return;
  }
  present?.view.destroy?.();
  const make = makers.get(state.view ?? "targets");
  put(identity, make !== undefined ? make(state) : new TargetsView());
}

/** The name or the pid of the address may be another process's later: from now on it has the id of this one. */
async function bind(state: route.State): Promise<void> {
  let unique = "";
  try {
    unique = (await api.json<Target>(api.targetPath(state.target))).unique;
  } catch {
    // The view says why.
  }
  if (route.address(route.read()) !== route.address(state)) {
    return;
  }
  route.note(route.isBound(unique) ? { target: unique } : {});
  draw(route.read());
}

function show(state: route.State): void {
  if (state.target === undefined || route.isBound(state.target)) {
    draw(state);
  } else {
    void bind(state);
  }
}

function signIn(): void {
  if (present?.identity === SIGN_IN) {
    return;
  }
  live.stop();
  shell.setLost(null);
  shell.setAccount();
  present?.view.destroy?.();
  put(SIGN_IN, new session.SignInView(() => void enter()));
}

/** Shows the view named by the address to a user who may see it. */
async function enter(): Promise<void> {
  try {
    if (!await session.look(signIn)) {
      signIn();
      return;
    }
    if (present?.identity === SIGN_IN) {
      present = { identity: "", view: present.view };
    }
    live.start();
    show(route.read());
    await announce();
  } catch (error) {
    // The event stream reports when the server answers again.
    shell.fail(error);
    live.start();
  }
}

function begin(page: HTMLElement): void {
  shell.start(page, false);
  keys.start([
    { key: "?", text: "this list", run: shell.showHelp },
    { key: "g", text: "the list of targets", run: () => route.go({}) },
  ]);
  api.onSignInNeeded(signIn);
  files.start();
  live.onState((connected) => {
    shell.setLost(connected ? null : "The server does not answer. What you see may be old; the page reconnects by itself.");
    if (connected && present === null) {
      void enter();
    }
  });
  route.start(show);
  void enter();
}

/** The page is a file with one profile. */
function beginFile(page: HTMLElement, text: string): void {
  shell.start(page, true);
  keys.start([{ key: "?", text: "this list", run: shell.showHelp }]);
  const source = fileSource(JSON.parse(text));
  route.start((state) => present?.view.update?.(state));
  put("file", new ProfileView(source));
}

const page = document.getElementById("page");
const data = document.getElementById("data");
if (page !== null && data?.textContent) {
  beginFile(page, data.textContent);
} else if (page !== null) {
  begin(page);
}
