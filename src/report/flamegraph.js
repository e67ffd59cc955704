// SPDX-License-Identifier: Apache-2.0
// Makes a flame graph interactive. Without scripts the picture is complete already; everything here is on top of it.
"use strict";
(() => {
  const svg = document.currentScript.closest("svg");
  const pane = svg.querySelector(".pane");
  const detail = svg.querySelector(".detail");
  const matched = svg.querySelector(".matched");
  const resetButton = svg.querySelector(".reset");
  const fieldBox = svg.querySelector("foreignObject");
  const field = fieldBox.querySelector("input");
  const margin = 10;
  const slack = 1e-6; // positions are rounded to 1e-7, and the narrowest frame is far wider
  const hint = "Click/Enter: zoom \u00b7 arrows: move \u00b7 /: search \u00b7 Esc: reset";
  const total = Number(svg.dataset.total);
  const space = svg.dataset.unit === "bytes";

  const frames = [];
  const path = [];
  for (const group of pane.querySelectorAll(".f")) {
    const rect = group.querySelector("rect");
    const about = group.querySelector("title").textContent;
    const frame = {
      group, rect, about,
      text: group.querySelector("text"),
      name: about.split("\n", 1)[0],
      index: frames.length,
      x: parseFloat(rect.getAttribute("x")) / 100,
      width: parseFloat(rect.getAttribute("width")) / 100,
      depth: Number(group.dataset.d),
      children: [],
    };
    path.length = frame.depth;
    frame.parent = path[frame.depth - 1] || null;
    if (frame.parent)
      frame.parent.children.push(frame);
    path.push(frame);
    frames.push(frame);
  }
  const root = frames[0];
  let zoomed = root;
  let here = root;
  let letter = 7.2;

  function size(amount) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = 0;
    if (!space)
      return String(Math.round(amount));
    while (amount >= 1023.95 && unit < units.length - 1) {
      amount /= 1024;
      unit++;
    }
    return amount.toFixed(unit ? 1 : 0) + " " + units[unit];
  }

  function percent(share) {
    return (share * 100).toFixed(1) + "%";
  }

  function holds(outer, inner) {
    return outer.x <= inner.x + slack && outer.x + outer.width >= inner.x + inner.width - slack;
  }

  const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

  function columns(text) {
    let sum = 0;
    for (const character of text)
      sum += wide.test(character) ? 2 : 1;
    return sum;
  }

  function cut(text, room) {
    let kept = "";
    let left = room - 2;
    if (columns(text) <= room)
      return text;
    for (const character of text) {
      left -= wide.test(character) ? 2 : 1;
      if (left < 0)
        break;
      kept += character;
    }
    return kept + "..";
  }

  // "std::vector<int>::resize" -> "resize": of a path the last component tells most.
  function lastComponent(name) {
    let depth = 0;
    let last = 0;
    for (let at = 0; at < name.length; at++) {
      if ("(<{[".includes(name[at]))
        depth++;
      else if (")>}]".includes(name[at]))
        depth--;
      else if (depth === 0 && name.startsWith("::", at))
        last = at + 2;
    }
    return depth === 0 ? name.slice(last) : name;
  }

  function label(frame, pixels) {
    const room = Math.floor((pixels - 8) / letter);
    if (room < 3)
      return "";
    if (columns(frame.name) <= room)
      return frame.name;
    const last = lastComponent(frame.name);
    return last !== frame.name && columns(last) + 2 <= room ? ".." + last : cut(last, room);
  }

  function place(frame, x, width, paneWidth) {
    const pixels = width * paneWidth;
    const shown = pixels >= 0.3;
    frame.group.classList.toggle("hidden", !shown);
    if (!shown)
      return;
    frame.rect.setAttribute("x", x * 100 + "%");
    frame.rect.setAttribute("width", width * 100 + "%");
    frame.text.setAttribute("x", x * 100 + "%");
    frame.text.textContent = label(frame, pixels);
  }

  function layout() {
    const paneWidth = Math.max(svg.getBoundingClientRect().width - 2 * margin, 100);
    pane.setAttribute("width", paneWidth);
    for (const frame of frames) {
      const above = frame.depth < zoomed.depth && holds(frame, zoomed);
      frame.group.classList.toggle("above", above);
      if (above)
        place(frame, 0, 1, paneWidth);
      else if (frame.depth >= zoomed.depth && holds(zoomed, frame))
        place(frame, (frame.x - zoomed.x) / zoomed.width, frame.width / zoomed.width, paneWidth);
      else
        frame.group.classList.add("hidden");
    }
    const right = paneWidth + margin;
    fieldBox.setAttribute("x", right - 220);
    matched.setAttribute("x", right);
    resetButton.setAttribute("x", right - 232);
    resetButton.classList.toggle("hidden", zoomed === root);
  }

  function show(frame) {
    zoomed = frame;
    layout();
    select(frame);
  }

  // The address keeps the zoom: for bookmarks, for reloading, and for the browser's way back.
  function zoom(frame) {
    const before = zoomed;
    show(frame);
    if (frame !== before)
      location.hash = frame === root ? "" : "frame=" + frame.index;
  }

  function zoomAsAddressed() {
    const match = /^#frame=(\d+)$/.exec(location.hash);
    const frame = match && frames[Number(match[1])] || root;
    if (frame !== zoomed)
      show(frame);
  }

  function select(frame) {
    here.group.classList.remove("here");
    here.group.setAttribute("tabindex", "-1");
    here = frame;
    here.group.classList.add("here");
    here.group.setAttribute("tabindex", "0");
    describe(frame);
  }

  function describe(frame) {
    if (!frame) {
      detail.textContent = hint;
      return;
    }
    const share = zoomed === root || frame === zoomed || !holds(zoomed, frame) ? "" :
      "   " + percent(frame.width / zoomed.width) + " of " + zoomed.name;
    detail.textContent = frame.about.replace(/\n/g, "   ") + share;
  }

  function search(pattern) {
    let expression = null;
    try {
      expression = pattern ? new RegExp(pattern, "i") : null;
    } catch (error) {
      matched.textContent = "not a regular expression";
      return;
    }
    let share = 0;
    let outside = -1; // frames left of this were counted with a frame above them
    for (const frame of frames) {
      const found = expression !== null && frame !== root && expression.test(frame.about.split("\n", 2).join("\n"));
      frame.group.classList.toggle("found", found);
      if (found && frame.x >= outside - slack) {
        share += frame.width;
        outside = frame.x + frame.width;
      }
    }
    matched.textContent = expression ? "found " + size(share * total) + " (" + percent(share) + ")" : "";
  }

  function sibling(step) {
    const row = here.parent ? here.parent.children : [root];
    return row[row.indexOf(here) + step] || here;
  }

  const keys = {
    ArrowUp: () => select(here.parent || here),
    ArrowDown: () => select(here.children[0] || here),
    ArrowLeft: () => select(sibling(-1)),
    ArrowRight: () => select(sibling(1)),
    Enter: () => zoom(here),
    Escape: () => { field.value = ""; search(""); zoom(root); describe(null); },
    "/": () => field.focus(),
  };

  function onKey(event) {
    if (event.target === field) {
      if (event.key === "Escape") {
        field.value = "";
        search("");
        field.blur();
      }
      return;
    }
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey)
      return;
    event.preventDefault();
    action();
    if (event.key !== "/")
      here.group.focus({preventScroll: false});
  }

  function frameAt(event) {
    const group = event.target.closest && event.target.closest(".f");
    return group ? frames.find((frame) => frame.group === group) : null;
  }

  svg.removeAttribute("viewBox");
  svg.setAttribute("width", "100%");
  fieldBox.classList.remove("hidden");
  if (root.text.textContent.length && root.text.getComputedTextLength)
    letter = root.text.getComputedTextLength() / root.text.textContent.length || letter;
  root.group.setAttribute("tabindex", "0");
  pane.addEventListener("click", (event) => {
    const frame = frameAt(event);
    if (frame)
      zoom(frame);
  });
  pane.addEventListener("mouseover", (event) => {
    const frame = frameAt(event);
    if (frame)
      describe(frame);
  });
  pane.addEventListener("mouseleave", () => describe(null));
  resetButton.addEventListener("click", keys.Escape);
  field.addEventListener("input", () => search(field.value));
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", layout);
  window.addEventListener("hashchange", zoomAsAddressed);
  layout();
  zoomAsAddressed();
  describe(zoomed === root ? null : zoomed);
})();
