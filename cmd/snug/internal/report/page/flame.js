"use strict";
(function () {
  const svg = document.getElementById("flame");
  const detail = document.getElementById("detail");
  const found = document.getElementById("found");
  const search = document.getElementById("search");
  const row = 18, letter = 6.7, margin = 4;

  const short = (name) => {
    const end = name.search(/[([]/);
    const head = end < 0 ? name : name.slice(0, end);
    return name.slice(head.lastIndexOf("/") + 1);
  };
  const frames = Array.from(svg.querySelectorAll(".f"), (g) => {
    const title = g.querySelector("title").textContent;
    const cut = title.indexOf("\n");
    const name = title.slice(0, cut), tag = g.dataset.t;
    const rect = g.querySelector("rect");
    return {
      g, rect, text: g.querySelector("text"), title, name, lower: name.toLowerCase(),
      label: (tag || "") + short(name),
      x: Number(g.dataset.x), w: Math.max(Number(g.dataset.w), 1), depth: Math.round(Number(rect.getAttribute("y")) / row),
    };
  });
  const byElement = new Map(frames.map((f) => [f.g, f]));
  const rows = 1 + frames.reduce((deepest, f) => Math.max(deepest, f.depth), 0);
  // Frames are in depth-first order: the parent is the last one a row above.
  const last = [];
  for (const f of frames) {
    f.below = [];
    f.above = f.depth > 0 ? last[f.depth - 1] : null;
    if (f.above) f.above.below.push(f);
    last[f.depth] = f;
  }

  let zoomed = frames[0], at = null;

  // Sizes are rounded parts per million, so containment follows the tree.
  const within = (f, top) => {
    while (f && f.depth > top.depth) f = f.above;
    return f === top;
  };
  const layout = (width) => {
    svg.setAttribute("viewBox", "0 0 " + width + " " + rows * row);
    for (const f of frames) {
      const inside = within(f, zoomed), over = !inside && within(zoomed, f);
      f.g.classList.toggle("off", !inside && !over);
      f.g.classList.toggle("over", over);
      if (!inside && !over) continue;
      const x = over ? 0 : (f.x - zoomed.x) / zoomed.w * width;
      const w = over ? width : Math.min(f.w / zoomed.w * width, width - x);
      f.rect.setAttribute("x", x.toFixed(2));
      f.rect.setAttribute("width", Math.max(w, 0.1).toFixed(2));
      const room = Math.floor((w - 2 * margin) / letter);
      let letters = Array.from(f.label);
      if (letters.length > room) letters = Array.from(f.label.replace("runtime.", ""));
      const text = letters.length <= room ? letters.join("") : room < 3 ? "" : letters.slice(0, room - 1).join("") + "…";
      if (text && !f.text) {
        f.text = document.createElementNS("http://www.w3.org/2000/svg", "text");
        f.text.setAttribute("y", f.depth * row + row - 5);
        f.g.append(f.text);
      }
      if (f.text) {
        f.text.textContent = text;
        f.text.setAttribute("x", (x + margin).toFixed(2));
      }
    }
  };
  const draw = () => layout(Math.max(svg.clientWidth, 320));
  const tell = (f) => { detail.textContent = f ? f.title : ""; };
  const select = (f) => {
    if (at) at.g.classList.remove("at");
    at = f;
    if (at) at.g.classList.add("at");
    tell(at);
  };
  const zoom = (f) => { zoomed = f; draw(); select(f); };

  const seek = () => {
    const words = search.value.trim().toLowerCase();
    svg.classList.toggle("seeking", words !== "");
    let hits = 0, sum = 0;
    for (const f of frames) {
      const hit = words !== "" && f.lower.includes(words);
      f.g.classList.toggle("hit", hit);
      f.counted = hit || (f.above !== null && f.above.counted);
      if (!hit) continue;
      hits++;
      if (!(f.above && f.above.counted)) sum += f.w;
    }
    found.textContent = words === "" ? "" : hits === 0 ? "nothing found" :
      (sum / 1e4).toFixed(1) + " % of the CPU time in " + hits + (hits === 1 ? " frame" : " frames");
  };

  const of = (event) => byElement.get(event.target.closest(".f"));
  svg.addEventListener("click", (event) => { const f = of(event); if (f) zoom(f); });
  svg.addEventListener("mouseover", (event) => tell(of(event) || at));
  svg.addEventListener("mouseleave", () => tell(at));
  svg.addEventListener("keydown", (event) => {
    const f = at || zoomed;
    const beside = f.above ? f.above.below : [f];
    const next = {
      ArrowUp: f.above, ArrowDown: f.below[0],
      ArrowLeft: beside[beside.indexOf(f) - 1], ArrowRight: beside[beside.indexOf(f) + 1],
    }[event.key];
    if (next) {
      if (!within(next, zoomed) && !within(zoomed, next)) { zoomed = frames[0]; draw(); }
      select(next);
    } else if (event.key === "Enter") zoom(f);
    else if (event.key === "Escape") zoom(frames[0]);
    else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  });
  document.getElementById("reset").addEventListener("click", () => {
    search.value = "";
    seek();
    zoom(frames[0]);
    select(null);
  });
  search.addEventListener("input", seek);
  search.form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("resize", draw);
  window.addEventListener("beforeprint", () => layout(1050));
  window.addEventListener("afterprint", draw);
  search.form.hidden = false;
  svg.classList.add("live");
  draw();
})();
