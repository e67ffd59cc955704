// SPDX-License-Identifier: Apache-2.0
// Runs the script of a flame graph with as much of a browser as it touches, and prints what a user would see as JSON.
"use strict";
const fs = require("fs");
const svgText = fs.readFileSync(process.argv[2], "utf8");
const script = /<script><!\[CDATA\[([\s\S]*)\]\]><\/script>/.exec(svgText)[1];

function plain(text) {
  return text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&amp;/g, "&");
}

class Element {
  constructor(attributes = {}, text = "") {
    const classes = new Set();
    this.attributes = attributes;
    this.textContent = text;
    this.listeners = {};
    this.children = {};
    this.dataset = {};
    this.value = "";
    this.classList = {
      toggle: (name, on) => on ? classes.add(name) : classes.delete(name),
      add: (name) => classes.add(name),
      remove: (name) => classes.delete(name),
      contains: (name) => classes.has(name),
    };
  }
  getAttribute(name) { return this.attributes[name]; }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  getBoundingClientRect() { return {width: 1200}; }
  querySelector(selector) { return this.children[selector]; }
  closest() { return this; }
  focus() {}
  blur() {}
}

const pattern = /<g class="f [^"]*" data-d="(\d+)"><title>([\s\S]*?)<\/title><rect x="([\d.]+)%" width="([\d.]+)%"/g;

// One page with the picture, opened at an address that ends in hash. Extra frames stand in for names this program has not.
function open(hash, extra = []) {
  const page = {groups: [], detail: new Element(), reset: new Element(), pane: new Element(), window: new Element()};
  const add = (depth, about, x, width) => {
    const group = new Element();
    group.dataset.d = depth;
    group.children = {rect: new Element({x, width}), title: new Element({}, about), text: new Element()};
    page.groups.push(group);
  };
  for (const match of svgText.matchAll(pattern))
    add(match[1], plain(match[2]), match[3] + "%", match[4] + "%");
  for (const [about, width] of extra)
    add("1", about, "0%", width);
  const field = new Element();
  field.children = {input: new Element()};
  page.pane.querySelectorAll = () => page.groups;
  const svg = new Element();
  svg.dataset = {total: /data-total="(\d+)"/.exec(svgText)[1], unit: "bytes"};
  svg.children = {".pane": page.pane, ".detail": page.detail, ".matched": new Element(), ".reset": page.reset,
                  foreignObject: field};
  page.document = new Element();
  page.document.currentScript = {closest: () => svg};
  page.location = {
    get hash() { return hash; },
    set hash(value) {
      hash = value ? "#" + value : "";
      if (page.window.listeners.hashchange)
        page.window.listeners.hashchange();
    },
  };
  new Function("document", "window", "location", script)(page.document, page.window, page.location);
  return page;
}

const page = open("", [["std::vector<char, std::allocator<char> >::resize(unsigned long)", "15.5%"],
                       ["\u65e5\u672c\u8a9e\u65e5\u672c\u8a9e", "5.4%"]]);
const seen = {at_start: page.detail.textContent};
seen.labels = page.groups.map((group) => group.children.text.textContent);
seen.main = page.groups.findIndex((group) => group.children.title.textContent.startsWith("main\n"));
page.pane.listeners.click({target: page.groups[seen.main]});
seen.hash_of_zoom = page.location.hash;
page.pane.listeners.mouseover({target: page.groups[seen.main + 1]});
seen.hovered = page.detail.textContent;
page.location.hash = "";
seen.zoomed_after_reset = !page.reset.classList.contains("hidden");
seen.zoomed_by_address = !open("#frame=" + seen.main).reset.classList.contains("hidden");
console.log(JSON.stringify(seen));
