// SPDX-License-Identifier: Apache-2.0
// Runs the script of a call graph with as much of a browser as it touches, and prints the part of the graph that is seen, after each step, as JSON.
"use strict";
const fs = require("fs");
const text = fs.readFileSync(process.argv[2], "utf8");
const script = /<script><!\[CDATA\[([\s\S]*)\]\]><\/script>/.exec(text)[1];
const shown = {viewBox: /<svg[^>]* viewBox="([^"]*)"/.exec(text)[1]};
const listeners = {};
const WINDOW = 1000; // wide and high

function seen() {
  return shown.viewBox.split(" ").map(Number);
}

// As a browser fits the box into the window: it keeps its proportions, in the middle.
function matrix() {
  const [x, y, width, height] = seen();
  const scale = Math.min(WINDOW / width, WINDOW / height);
  return {a: scale, d: scale, e: (WINDOW - width * scale) / 2 - x * scale, f: (WINDOW - height * scale) / 2 - y * scale};
}

const svg = {
  getAttribute: (name) => shown[name],
  setAttribute: (name, value) => { shown[name] = value; },
  addEventListener: (name, listener) => { listeners[name] = listener; },
  getScreenCTM: matrix,
};
const page = {addEventListener: (name, listener) => { listeners[name] = listener; }};
new Function("document", "window", script)({currentScript: {closest: () => svg}}, page);

function graphPoint(clientX, clientY) {
  const {a, d, e, f} = matrix();
  return [(clientX - e) / a, (clientY - f) / d];
}

function send(name, event) {
  let stopped = false;
  listeners[name](Object.assign({preventDefault: () => { stopped = true; }}, event));
  return stopped;
}

const said = {size: [shown.width, shown.height], whole: seen(), before: graphPoint(700, 400)};
said.stopped = send("wheel", {clientX: 700, clientY: 400, deltaY: -3});
said.zoomed = seen();
said.after = graphPoint(700, 400);
const corner = graphPoint(600, 600);
send("pointerdown", {clientX: 600, clientY: 600, button: 0});
send("pointermove", {clientX: 500, clientY: 550, buttons: 1});
send("pointerup", {});
said.dragged = [corner, graphPoint(500, 550)];
send("pointermove", {clientX: 0, clientY: 0, buttons: 0});
said.let_go = graphPoint(500, 550);
for (let turn = 0; turn < 50; turn++)
  send("wheel", {clientX: 500, clientY: 500, deltaY: 3});
said.far = seen();
for (let turn = 0; turn < 50; turn++)
  send("keydown", {key: "+"});
said.near = seen();
said.other_key = send("keydown", {key: "a"}) || send("keydown", {key: "+", ctrlKey: true});
send("keydown", {key: "0"});
said.reset = seen();
console.log(JSON.stringify(said));
