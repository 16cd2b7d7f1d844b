"use strict";
(() => {
const D = document, R = D.documentElement;
R.classList.add("js");
const $ = (s, e = D) => e.querySelector(s), $$ = (s, e = D) => [...e.querySelectorAll(s)];

/* theme, remembered where the browser allows it for a file */
const remember = (value) => { try { if (value) localStorage.setItem("nsysflow-theme", value); return localStorage.getItem("nsysflow-theme"); } catch { return null; } };
const kept = remember();
if (kept === "dark" || kept === "light") R.dataset.theme = kept;
$("#theme").addEventListener("click", () => {
  const dark = R.dataset.theme ? R.dataset.theme === "dark" : matchMedia("(prefers-color-scheme:dark)").matches;
  R.dataset.theme = dark ? "light" : "dark";
  remember(R.dataset.theme);
});
$("#print").addEventListener("click", () => print());
let opened = [];
addEventListener("beforeprint", () => { opened = $$("details.card.pp:not([open])"); opened.forEach((d) => { d.open = true; }); });
addEventListener("afterprint", () => opened.forEach((d) => { d.open = false; }));

/* long tables begin folded */
const unfold = (table) => {
  const button = $("button.all", table.closest(".blk"));
  table.classList.remove("short");
  if (button) button.remove();
};
$$("button.all").forEach((button) => {
  const table = D.getElementById(button.getAttribute("aria-controls"));
  table.classList.add("short");
  button.addEventListener("click", () => unfold(table));
});

/* deep links open what they point into */
const openTarget = () => {
  let id = "";
  try { id = decodeURIComponent(location.hash.slice(1)); } catch { return; }
  const target = id && D.getElementById(id);
  if (!target) return;
  const table = target.closest("table.short");
  if (table) unfold(table);
  if (target.hidden) { const f = $("input.filter", target.closest(".blk")); f.value = ""; f.dispatchEvent(new Event("input")); }
  for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  target.scrollIntoView();
};
addEventListener("hashchange", openTarget);
/* the same link again changes no hash, yet what it opens may have been closed meanwhile */
D.addEventListener("click", (e) => { const a = e.target.closest("a[href^='#']"); if (a && a.getAttribute("href") === location.hash) openTarget(); });
openTarget();
/* a row that is clicked is what the address points to */
D.addEventListener("click", (e) => {
  const row = e.target.closest("table.dt tbody tr[id]");
  if (row && !e.target.closest("a, button")) history.replaceState(null, "", "#" + encodeURIComponent(row.id));
});

/* terms show their glossary entry */
let tip;
const hide = () => { if (tip) { tip.remove(); tip = null; } };
const show = (a) => {
  hide();
  const entry = D.getElementById(a.getAttribute("href").slice(1));
  if (!entry) return;
  tip = D.createElement("div");
  tip.className = "tip"; tip.id = "tip"; tip.setAttribute("role", "tooltip");
  tip.textContent = $("dd", entry).textContent;
  D.body.append(tip);
  const r = a.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(r.left + scrollX, scrollX + R.clientWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = r.bottom + scrollY + 6 + "px";
  a.setAttribute("aria-describedby", "tip");
};
$$("a.term").forEach((a) => {
  a.addEventListener("mouseenter", () => show(a));
  a.addEventListener("focus", () => show(a));
  a.addEventListener("mouseleave", hide);
  a.addEventListener("blur", hide);
});
addEventListener("keydown", (e) => { if (e.key === "Escape") hide(); });

/* tables: sort, filter, CSV */
const sortable = (table) => {
  const body = table.tBodies[0], heads = $$("thead th", table);
  const value = (row, at, num) => {
    const cell = row.cells[at];
    if (cell.dataset.s !== undefined) return null;
    const v = cell.dataset.v;
    if (v !== undefined) return v === "" ? null : Number(v);
    const text = cell.textContent.trim().toLowerCase();
    return num || text === "" ? null : text;
  };
  heads.forEach((head, at) => {
    if (head.classList.contains("ns")) return;
    const button = D.createElement("button");
    button.type = "button"; button.textContent = head.textContent; head.textContent = ""; head.append(button);
    button.addEventListener("click", () => {
      const num = head.classList.contains("num"), now = head.getAttribute("aria-sort");
      const dir = now === "descending" ? 1 : now === "ascending" ? -1 : num ? -1 : 1;
      heads.forEach((h) => h.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", dir < 0 ? "descending" : "ascending");
      const last = (row) => row.classList.contains("tot");
      const keyed = [...body.rows].map((row, i) => [value(row, at, num), i, row]);
      keyed.sort(([a, i, r], [b, j, s]) => last(r) - last(s) || (a === null) - (b === null) || (a < b ? -dir : a > b ? dir : i - j));
      const first = heads[0].closest("table").querySelectorAll("tr:not(.cut)").length - 1;
      keyed.forEach(([, , row], i) => { row.classList.toggle("cut", i >= first && !last(row)); body.append(row); });
    });
  });
};
const quote = (text) => {
  let s = String(text);
  if (/^[=+\-@\t\r]/.test(s) && Number.isNaN(Number(s))) s = "'" + s;
  return /[",\n\r]/.test(s) ? '"' + s.replace(/"/g, '""') + '"' : s;
};
const csvOf = (table) => {
  const heads = $$("thead th", table), body = [...table.tBodies[0].rows].filter((r) => !r.hidden);
  const use = heads.map((h, i) => i).filter((i) => !heads[i].classList.contains("ns"));
  const lacks = body.some((r) => [...r.cells].some((c) => c.dataset.s !== undefined));
  const cell = (c) => c.dataset.s !== undefined ? "" : c.dataset.c ?? c.dataset.v ?? ($("[title]", c) || {}).title ?? c.textContent.trim();
  const status = (r) => use.filter((i) => r.cells[i].dataset.s !== undefined).map((i) => heads[i].dataset.k + ": " + r.cells[i].dataset.s).join("; ");
  const lines = [[...use.map((i) => heads[i].dataset.k), ...(lacks ? ["status"] : [])]];
  body.forEach((r) => lines.push([...use.map((i) => cell(r.cells[i])), ...(lacks ? [status(r)] : [])]));
  return lines.map((l) => l.map(quote).join(",")).join("\n") + "\n";
};
$$("table.dt").forEach((table) => {
  sortable(table);
  const box = table.closest(".blk"), filter = $("input.filter", box), csv = $("button.csv", box);
  if (filter) filter.addEventListener("input", () => {
    unfold(table);
    const q = filter.value.toLowerCase(), rows = [...table.tBodies[0].rows];
    rows.forEach((r) => { r.hidden = !r.textContent.toLowerCase().includes(q); });
    $(".fcount", box).textContent = q ? rows.filter((r) => !r.hidden).length + " of " + rows.length + " rows" : "";
  });
  if (csv) csv.addEventListener("click", () => {
    const a = D.createElement("a");
    a.href = URL.createObjectURL(new Blob([csvOf(table)], { type: "text/csv" }));
    a.download = table.id + ".csv";
    a.click();
    setTimeout(() => URL.revokeObjectURL(a.href), 1000);
  });
});
})();
