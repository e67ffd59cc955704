// SPDX-License-Identifier: Apache-2.0
// The user of the page: permissions, and signing in with a token, which only the server stores.
import * as api from "./api";
import { h, replace, shown } from "./dom";
import * as shell from "./shell";

interface Session {
  role: "none" | "read" | "control";
  name: string | null;
  tokens: boolean;
  session: boolean;
}

const PATH = "/api/v1/session";

let role: Session["role"] = "control";

/** Whether the user may change something; for the display only, since the server decides. */
export function mayControl(): boolean {
  return role === "control";
}

function note(session: Session, signedOut: () => void): void {
  role = session.role;
  if (!session.session) {
    shell.setAccount();
    return;
  }
  shell.setAccount(`${shown(session.name ?? "")}, ${role === "control" ? "may control" : "may read"} `, h("button", { class: "quiet", onclick: async () => {
    try {
      await api.request(PATH, { method: "DELETE" });
      signedOut();
    } catch (error) {
      shell.fail(error);
    }
  } }, "Sign out"));
}

/** Whether the user may see anything. */
export async function look(signedOut: () => void): Promise<boolean> {
  const session = await api.json<Session>(PATH);
  note(session, signedOut);
  return session.role !== "none";
}

export class SignInView implements shell.View {
  readonly title = "Sign in";
  readonly element: HTMLElement;
  private readonly token: HTMLInputElement = h("input", { type: "password", id: "token", autocomplete: "current-password", required: true, spellcheck: "false" });
  private readonly error = h("p", { class: "message error", role: "alert", hidden: true });
  private readonly button: HTMLButtonElement = h("button", { type: "submit" }, "Sign in");

  constructor(private readonly signedIn: () => void) {
    this.element = h("form", { class: "sign-in", onsubmit: (event: Event) => {
      event.preventDefault();
      void this.submit();
    } }, h("h1", null, "Sign in"), h("p", null, "This server asks for a token. Its operator has them in the file of --token-file."),
    h("label", { for: "token" }, "Token"), this.token, this.button, this.error);
  }

  private async submit(): Promise<void> {
    this.button.disabled = true;
    try {
      await api.request(PATH, { method: "POST", body: JSON.stringify({ token: this.token.value }), headers: { "Content-Type": "application/json" } });
      this.signedIn();
    } catch (error) {
      replace(this.error, h("span", null, ...shell.explain(error)));
      this.error.hidden = false;
      this.token.focus();
    }
    this.button.disabled = false;
  }
}
