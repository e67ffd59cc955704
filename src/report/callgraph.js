// SPDX-License-Identifier: Apache-2.0
// Fits a call graph into the window, and lets it be zoomed and moved. Without scripts the picture is complete already.
"use strict";
(() => {
  const svg = document.currentScript.closest("svg");
  const whole = svg.getAttribute("viewBox").split(/[\s,]+/).map(Number);
  const step = 1.25; // of a turn of the wheel, and of a key
  const closest = 40; // times the whole graph
  let [x, y, width, height] = whole;
  let held = null; // the point of the graph under the pointer while its button is down

  function show() {
    svg.setAttribute("viewBox", [x, y, width, height].map((number) => number.toFixed(2)).join(" "));
  }

  // The point of the graph at a point of the window.
  function at(event) {
    const matrix = svg.getScreenCTM();
    return {x: (event.clientX - matrix.e) / matrix.a, y: (event.clientY - matrix.f) / matrix.d};
  }

  // Keeps point where it is.
  function zoom(factor, point) {
    const next = Math.min(Math.max(width / factor, whole[2] / closest), whole[2]);
    const ratio = next / width;
    x = point.x - (point.x - x) * ratio;
    y = point.y - (point.y - y) * ratio;
    width = next;
    height *= ratio;
    if (next === whole[2])
      [x, y, width, height] = whole;
    show();
  }

  function reset() {
    [x, y, width, height] = whole;
    show();
  }

  const keys = {
    "+": () => zoom(step, middle()), "=": () => zoom(step, middle()), "-": () => zoom(1 / step, middle()),
    "0": reset, Escape: reset,
    ArrowLeft: () => move(-width / 8, 0), ArrowRight: () => move(width / 8, 0),
    ArrowUp: () => move(0, -height / 8), ArrowDown: () => move(0, height / 8),
  };

  function middle() {
    return {x: x + width / 2, y: y + height / 2};
  }

  function move(right, down) {
    x += right;
    y += down;
    show();
  }

  svg.setAttribute("width", "100%");
  svg.setAttribute("height", "100%");
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY < 0 ? step : 1 / step, at(event));
  }, {passive: false});
  svg.addEventListener("pointerdown", (event) => {
    if (event.button === 0)
      held = at(event);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!held || !(event.buttons & 1))
      return;
    const now = at(event);
    move(held.x - now.x, held.y - now.y);
  });
  svg.addEventListener("pointerup", () => held = null);
  svg.addEventListener("dblclick", reset);
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, event.key))
      return;
    event.preventDefault();
    keys[event.key]();
  });
})();
