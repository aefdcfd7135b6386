// Keeps a page fresh. Only sections that changed are replaced, and what is open, focused, selected or scrolled
// to remains so.
"use strict";
const live = document.getElementById("live");
const connection = document.getElementById("connection");
const PERIOD_MS = 3000;
let tag = null, failures = 0, timer = 0, busy = false;

function swap(section, fresh) {
  section.className = fresh.className;
  section.hidden = fresh.hidden;
  const selection = getSelection();
  if (!selection.isCollapsed && section.contains(selection.anchorNode)) return false;
  const focus = section.contains(document.activeElement) && document.activeElement.id;
  const open = [...section.querySelectorAll("details[open]")].map((item) => item.id);
  const scrolls = [...section.querySelectorAll(".scroll[id]")].map((item) => [item.id, item.scrollLeft]);
  section.replaceChildren(...fresh.childNodes);
  for (const id of open) { const item = document.getElementById(id); if (item) item.open = true; }
  for (const [id, left] of scrolls) { const item = document.getElementById(id); if (item) item.scrollLeft = left; }
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  return true;
}

function apply(html) {
  const root = new DOMParser().parseFromString(html, "text/html").querySelector("[data-title]");
  for (const fresh of root.querySelectorAll(":scope > section")) {
    const section = document.getElementById(fresh.id), source = fresh.outerHTML;
    if (section.source !== source && swap(section, fresh)) section.source = source;
  }
  const badge = document.getElementById("open-incidents"), open = Number(root.dataset.open);
  badge.hidden = !open;
  badge.firstChild.data = "▲ " + open;
  document.title = (open ? "▲ " + open + " · " : "") + root.dataset.title;
  const announce = document.getElementById("announce");
  if (announce.textContent !== root.dataset.announce) announce.textContent = root.dataset.announce;
  const icon = document.getElementById("icon"), href = icon.dataset[open ? "alert" : "steady"];
  if (icon.getAttribute("href") !== href) icon.setAttribute("href", href);
}

function say(state, text) {
  connection.className = "connection " + state;
  connection.textContent = text;
}

async function refresh() {
  if (document.hidden || busy) return;
  busy = true;
  clearTimeout(timer);
  try {
    const answer = await fetch(live.dataset.source, {
      headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store", signal: AbortSignal.timeout(10000),
    });
    if (!answer.ok && answer.status !== 304) throw new Error(String(answer.status));
    if (answer.status === 200) { apply(await answer.text()); tag = answer.headers.get("etag"); }
    failures = 0;
    say("on", "live");
  } catch {
    failures += 1;
    say("off", "connection lost, retrying");
  }
  busy = false;
  timer = setTimeout(refresh, Math.min(15000, PERIOD_MS * (1 + failures)));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) { clearTimeout(timer); say("paused", "paused"); } else refresh();
});

// Tooltips of the heatmap: the title attribute alone shows nothing to keyboards.
const tip = document.body.appendChild(document.createElement("div"));
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
function showTip(event) {
  const cell = event.target.closest?.("a.cell");
  tip.hidden = !cell?.title && !cell?.dataset.tip;
  if (tip.hidden) return;
  if (cell.title) { cell.ariaDescription = cell.dataset.tip = cell.title; cell.removeAttribute("title"); }
  tip.textContent = cell.dataset.tip;
  const box = cell.getBoundingClientRect(), size = tip.getBoundingClientRect();
  const below = box.bottom + 6 + size.height < innerHeight;
  tip.style.left = Math.max(8, Math.min(box.left, innerWidth - size.width - 8)) + "px";
  tip.style.top = Math.max(8, below ? box.bottom + 6 : box.top - size.height - 6) + "px";
}
for (const kind of ["mouseover", "focusin"]) document.addEventListener(kind, showTip);
addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });
for (const section of live.querySelectorAll("[data-title] > section")) section.source = section.outerHTML;
refresh();
