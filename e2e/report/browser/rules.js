// What holds for every page on every screen; the answer is a list of complaints.
(() => {
  const bad = [];
  const name = e => e.tagName.toLowerCase() + (e.className.baseVal ?? e.className ? "." + (e.className.baseVal ?? e.className) : "") +
    " \"" + (e.textContent || "").trim().slice(0, 40) + "\"";
  const box = e => e.getBoundingClientRect();
  const shown = e => box(e).width > 0 && getComputedStyle(e).visibility !== "hidden";

  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) bad.push(`the page scrolls sideways: ${root.scrollWidth} > ${innerWidth}`);
  if (document.scripts.length) bad.push("there is a script");
  if (!document.documentElement.lang) bad.push("no language");
  if (!document.title) bad.push("no title");
  if (document.querySelectorAll("h1").length !== 1) bad.push("not one h1");
  let level = 0;
  for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
    const n = +h.tagName[1];
    if (n > level + 1) bad.push(`${name(h)} follows a heading of level ${level}`);
    level = n;
  }

  for (const s of document.querySelectorAll("svg")) {
    if (!s.getAttribute("aria-label") || !s.querySelector("title")?.textContent) bad.push("a drawing without a name");
    if (getComputedStyle(s).display === "none") continue;
    const b = box(s);
    if (b.width < 50 || b.height < 30) bad.push(`${name(s)} is ${b.width} by ${b.height}`);
    for (const t of s.querySelectorAll("text")) {
      const r = box(t);
      if (r.left < b.left - 2 || r.right > b.right + 2 || r.top < b.top - 2 || r.bottom > b.bottom + 4)
        bad.push(`${name(t)} leaves its drawing ${s.getAttribute("class")}`);
    }
    const texts = [...s.querySelectorAll("text")].map(t => [t, box(t)]);
    for (let i = 0; i < texts.length; i++) for (let j = i + 1; j < texts.length; j++) {
      const [a, x] = texts[i], [c, y] = texts[j];
      const w = Math.min(x.right, y.right) - Math.max(x.left, y.left), h = Math.min(x.bottom, y.bottom) - Math.max(x.top, y.top);
      if (w > 2 && h > 5) bad.push(`${name(a)} and ${name(c)} lie over each other in ${s.getAttribute("class")}`);
    }
  }

  for (const t of document.querySelectorAll("table")) {
    const p = t.parentElement;
    if (p.scrollWidth <= p.clientWidth + 1 || matchMedia("print").matches) continue;
    if (p.tabIndex !== 0 || !getComputedStyle(p).backgroundImage.includes("gradient") || !t.querySelector(".stay"))
      bad.push(`${name(t)} is cut off: it needs a shadow, the focus, and a column that stays`);
  }

  const rgba = c => (c.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = c => { const [r, g, b] = rgba(c).slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const below = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if ((rgba(c)[3] ?? 1) > 0) return c; } return "rgb(255,255,255)"; };
  const print = matchMedia("print").matches;
  const seen = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || seen.has(e) || !shown(e) || ["STYLE", "title", "desc"].includes(e.tagName)) continue;
    seen.add(e);
    const style = getComputedStyle(e), svg = e.ownerSVGElement;
    const size = parseFloat(style.fontSize) * (svg ? box(svg).width / svg.viewBox.baseVal.width : 1);
    if (!print && size < 11) bad.push(`${name(e)} is ${size.toFixed(1)} px high`);
    if (e.classList.contains("number")) continue; // stands on its own disc
    const a = light(svg ? style.fill : style.color), b = light(below(e));
    const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (contrast < 4.5) bad.push(`${name(e)} has a contrast of ${contrast.toFixed(1)}`);
  }
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const dark = !print && matchMedia("(prefers-color-scheme: dark)").matches;
  if (dark !== paper < .2) bad.push(`paper of ${getComputedStyle(document.body).backgroundColor} in ${print ? "print" : dark ? "the dark" : "the light"}`);
  return bad;
})()
