(() => {
const D = document, $ = (s) => D.querySelector(s), $$ = (s) => [...D.querySelectorAll(s)];
const source = $("#tl-data");
if (!source) return;
const T = JSON.parse(source.textContent);
const P = $("#tlp"), plot = $("#plot"), axis = $("#ax"), words = $("#nv"), detail = $("#tldet"), selected = $("#selr");
const WHOLE = $("[data-tl=\"0\"]").textContent.toLowerCase();
const HINT = matchMedia("(hover:none)").matches ? "Tap a mark to pin it; drag sideways to pan; the buttons zoom and walk the gaps." : "Hover or click a mark. Click pins it; drag pans; Ctrl+wheel zooms; n and p walk the gaps.";
const HEIGHT = T.top[T.top.length - 1] + T.high[T.high.length - 1] + 6;
const BUCKETS = ["compute", "overlap", "comm", "mem", "graph", "idle"];
const STATE = T.css.map((c, i) => [BUCKETS.indexOf(c), i]).filter(([at]) => at >= 0).sort((a, b) => a[0] - b[0]).map(([, i]) => i);
const NS = "http://www.w3.org/2000/svg";
const el = (name, attributes) => { const e = D.createElementNS(NS, name); for (const k in attributes) e.setAttribute(k, attributes[k]); return e; };
const empty = (e) => { while (e.firstChild) e.firstChild.remove(); };

/* marks: columns with start differences become [start, length, class, name, ops, share, row] */
const steps = T.steps.map((step) => ({
  dur: step.dur, unit: step.unit, bin: step.bin, note: step.note,
  rows: step.rows.map((row, lane) => {
    let at = 0;
    return { label: row.label, kind: row.kind, marks: row.s.map((d, i) => [at += d, row.d[i], row.c[i], row.n ? row.n[i] : -1, row.k ? row.k[i] : 1, row.h ? row.h[i] / 100 : 1, lane]) };
  }),
}));
let S = steps[0], t0 = 0, t1 = S.dur, pin = null, gapAt = -1, drag = null, moved = false;

const time = (value) => {
  const ns = value * S.unit;
  if (ns === 0) return "0";
  if (ns >= 1e10) return (ns / 1e9).toFixed(1) + "\u202fs";
  if (ns >= 9995e3) return (ns / 1e6).toFixed(1).replace(/\B(?=(\d{3})+\.)/, ",") + "\u202fms";
  if (ns >= 999500) return (ns / 1e6).toFixed(2) + "\u202fms";
  return ns >= 9950 ? Math.round(ns / 1e3) + "\u202fµs" : (ns / 1e3).toFixed(1) + "\u202fµs";
};
const box = (x, y, w, h) => `M${x} ${y}h${w}v${h}h-${w}z`;

/* merged marks of one row may overlap: the lower one stands in front, so that both are seen */
const levels = (marks) => {
  const level = marks.map(() => 0), merged = marks.map((m, i) => i).filter((i) => marks[i][5] < 1), higher = marks.map(() => []);
  merged.forEach((a, at) => {
    for (let k = at + 1; k < merged.length && marks[merged[k]][0] < marks[a][0] + marks[a][1]; k++) {
      const b = merged[k], up = marks[a][5] < marks[b][5];
      higher[up ? a : b].push(up ? b : a);
    }
  });
  merged.sort((a, b) => marks[b][5] - marks[a][5] || a - b).forEach((a) => { level[a] = 1 + Math.max(0, ...higher[a].map((b) => level[b])); });
  return level;
};
/* all rows but the state row are drawn once per step; zooming only changes the viewBox */
const draw = () => {
  empty(plot);
  S.rows.forEach((row, lane) => {
    if (row.kind === "state") return;
    const base = T.top[lane] + T.high[lane] - 2, full = T.high[lane] - 12, by = {};
    const level = levels(row.marks);
    row.marks.forEach(([s, d, c, , , h], i) => { const y = Math.max(1, full * h); ((by[level[i]] ||= {})[c] ||= []).push(box(s, (base - y).toFixed(1), Math.max(d, .1), y.toFixed(1))); });
    const few = row.marks.length <= T.few ? " few" : "";
    for (const l in by) for (const c in by[l]) plot.append(el("path", { class: T.css[c] + few, d: by[l][c].join("") }));
  });
};
/* the state row: single intervals when few are in view, else the share of each bucket per 5 px */
const ribbon = (width, px) => {
  $$("#plot .rib").forEach((e) => e.remove());
  const lane = S.rows.findIndex((r) => r.kind === "state");
  if (lane < 0) return;
  const base = T.top[lane] + T.high[lane] - 2, full = T.high[lane] - 12, by = {};
  const put = (c, d) => (by[c] ||= []).push(d);
  const seen = S.rows[lane].marks.filter((m) => m[0] < t1 && m[0] + m[1] > t0);
  if (seen.length < px / 6 && seen.every((m) => m[5] === 1)) {
    $("#ribl").textContent = "every interval";
    seen.forEach(([s, d, c]) => put(c, box(s, base - full, d, full)));
  } else {
    const bins = Math.max(20, Math.round(px / 5)), w = width / bins, held = Array.from({ length: bins }, () => ({}));
    $("#ribl").textContent = S.bin > w && seen.some((m) => m[4] > 1) ? "merged below " + time(S.bin) : "share per " + time(w);
    seen.forEach(([s, d, c, , , h]) => {
      const a = Math.max(s, t0), b = Math.min(s + d, t1);
      for (let i = Math.floor((a - t0) / w); i < bins && t0 + i * w < b; i++) held[i][c] = (held[i][c] || 0) + h * (Math.min(b, t0 + (i + 1) * w) - Math.max(a, t0 + i * w));
    });
    held.forEach((shares, i) => {
      let y = base, total = 0;
      for (const c in shares) total += shares[c];
      for (const c of STATE) if (shares[c] > 0) { const h = full * shares[c] / total; y -= h; put(c, box((t0 + i * w).toFixed(1), y.toFixed(1), w.toFixed(2), h.toFixed(1))); }
    });
  }
  for (const c in by) plot.append(el("path", { class: T.css[c] + " rib", d: by[c].join("") }));
};
const ON = { compute: "t-compute", overlap: "t-overlap", comm: "t-comm", mem: "t-mem", "h-sync": "t-host", "h-range": "t-range" };
const label = (mark) => (mark[3] >= 0 ? T.names[mark[3]] : T.words[mark[2]]);
const write = (width, k) => {
  empty(words);
  let left = 160;
  S.rows.forEach((row, lane) => {
    if (!row.marks.length) { const e = el("text", { x: 0, y: T.top[lane] + 22, dx: 4, class: "nvl" }); e.textContent = "none"; words.append(e); }
    if (row.kind === "state") return;
    let free = 0;
    for (const mark of row.marks) {
      const [s, d, c] = mark;
      if (s >= t1 || s + d <= t0 || left <= 0) continue;
      /* merged marks without a common name say no more than their colour */
      if (mark[4] > 1 && mark[3] < 0 && row.kind !== "idle") continue;
      const a = Math.max(s, t0), px = (Math.min(s + d, t1) - a) / k;
      if (px < 64 || a < free) continue;
      free = s + d;
      const room = Math.floor(px / 6.6) - 1, text = label(mark);
      const e = el("text", { x: 100 * (a - t0) / width + "%", y: T.top[lane] + 22, dx: 4, class: row.kind === "nvtx" ? "nvl" : "tlt " + (ON[T.css[c]] || "halo") });
      e.textContent = text.length > room ? text.slice(0, room - 1) + "…" : text;
      words.append(e);
      left--;
    }
  });
};
const ticks = (width, px) => {
  empty(axis);
  const rough = width / Math.max(3, px / 110), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((f) => f * power >= rough) * power;
  for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) {
    const at = 100 * (t - t0) / width;
    axis.append(el("line", { x1: at + "%", x2: at + "%", y1: 18, y2: HEIGHT, class: "tick" }));
    if (at < 95) { const e = el("text", { x: at + "%", y: 13, dx: 3 }); e.textContent = time(t); axis.append(e); }
  }
};
const apply = () => {
  const width = t1 - t0, px = P.clientWidth || 900, k = width / px;
  ribbon(width, px);
  plot.setAttribute("viewBox", `${t0} 0 ${width} ${HEIGHT}`);
  $$("linearGradient[data-x]").forEach((g) => g.setAttribute("gradientTransform", `scale(${k} 1)`));
  $("#miniwin").setAttribute("x", 100 * t0 / S.dur + "%");
  $("#miniwin").setAttribute("width", 100 * width / S.dur + "%");
  ticks(width, px);
  write(width, k);
  $("#tlwin").textContent = width >= S.dur ? WHOLE + ", " + time(S.dur) : time(t0) + " – " + time(t1) + " (" + time(width) + ")";
  if (!pin) { selected.setAttribute("display", "none"); return; }
  selected.setAttribute("x", 100 * (pin[0] - t0) / width + "%");
  selected.setAttribute("width", Math.max(.15, 100 * pin[1] / width) + "%");
  selected.setAttribute("y", T.top[pin[6]] + 9);
  selected.setAttribute("height", T.high[pin[6]] - 10);
  selected.removeAttribute("display");
};
const view = (a, b) => {
  const width = Math.min(S.dur, Math.max(S.dur / 1e6, 10, b - a));
  t0 = Math.max(0, Math.min(a, S.dur - width)); t1 = t0 + width;
  apply();
};
const zoom = (f, at = .5) => { const w = t1 - t0, c = t0 + w * at; view(c - w * f * at, c + w * f * (1 - at)); };
const pan = (f) => { const w = t1 - t0; view(t0 + w * f, t1 + w * f); };
const kind = (m) => (m[3] >= 0 && T.words[m[2]] !== label(m) ? " · " + T.words[m[2]] : "");
const say = (m) => label(m) + kind(m) + (m[4] > 1 ? ` · ${m[4]} merged, covering ${Math.round(100 * m[5])}\u202f%` : "") + ` · ${S.rows[m[6]].label} · starts ${time(m[0])} · lasts ${time(m[1])}`;
const pinMark = (mark, go) => {
  pin = mark; detail.textContent = say(mark);
  if (!go) { apply(); return; }
  const w = Math.max(mark[1] * 6, S.dur / 500);
  view(mark[0] + mark[1] / 2 - w / 2, mark[0] + mark[1] / 2 + w / 2);
};
const clear = () => { pin = null; detail.textContent = HINT; apply(); };
const gaps = () => S.rows.filter((r) => r.kind === "idle").flatMap((r) => r.marks).filter((m) => m[4] === 1 && m[1] >= S.dur / 1000);
const gap = (n) => { const g = gaps(); if (!g.length) { detail.textContent = "No idle gap of at least 0.1\u202f% of what is shown is drawn on its own."; return; } gapAt = (gapAt < 0 && n < 0 ? g.length - 1 : gapAt + n + g.length) % g.length; pinMark(g[gapAt], true); detail.textContent = `Gap ${gapAt + 1} of ${g.length}: ` + say(g[gapAt]); };
const near = (e) => {
  const r = P.getBoundingClientRect(), w = t1 - t0, t = t0 + (e.clientX - r.left) / r.width * w, y = e.clientY - r.top;
  const lane = T.top.findIndex((top, i) => y >= top && y < top + T.high[i]), slack = w / r.width * 2;
  if (lane < 0 || !S.rows[lane]) return null;
  return S.rows[lane].marks.reduce((best, m) => (t >= m[0] - slack && t <= m[0] + m[1] + slack && (!best || m[1] < best[1]) ? m : best), null);
};
const pick = (index) => { S = steps[index]; $("#stepsel").value = index; pin = null; gapAt = -1; $("#tlnote").textContent = S.note; draw(); };

P.addEventListener("mousemove", (e) => { if (!pin) { const m = near(e); detail.textContent = m ? say(m) : HINT; } });
P.addEventListener("click", (e) => { if (moved) return; const m = near(e); if (m) pinMark(m); else clear(); });
P.addEventListener("wheel", (e) => {
  if (!e.ctrlKey && !e.metaKey) return;
  e.preventDefault();
  const r = P.getBoundingClientRect();
  zoom(e.deltaY > 0 ? 1.25 : .8, (e.clientX - r.left) / r.width);
}, { passive: false });
P.addEventListener("pointerdown", (e) => { drag = [e.clientX, t0, t1]; moved = false; });
addEventListener("pointermove", (e) => {
  if (!drag) return;
  const dx = e.clientX - drag[0];
  if (Math.abs(dx) <= 4) return;
  moved = true;
  const dt = -dx / P.clientWidth * (drag[2] - drag[1]);
  view(drag[1] + dt, drag[2] + dt);
});
addEventListener("pointerup", () => { drag = null; });
const zoomIn = () => zoom(.6), zoomOut = () => zoom(1 / .6);
const KEYS = {
  "+": zoomIn, "=": zoomIn, w: zoomIn, "-": zoomOut, s: zoomOut,
  ArrowLeft: () => pan(-.2), a: () => pan(-.2), ArrowRight: () => pan(.2), d: () => pan(.2),
  0: () => view(0, S.dur), n: () => gap(1), p: () => gap(-1), Escape: clear,
};
P.addEventListener("keydown", (e) => { if (e.ctrlKey || e.metaKey || e.altKey) return; const f = KEYS[e.key]; if (f) { e.preventDefault(); f(); } });
$$("[data-tl]").forEach((b) => b.addEventListener("click", () => KEYS[b.dataset.tl]()));
$("#stepsel").addEventListener("change", (e) => { pick(Number(e.target.value)); view(0, S.dur); detail.textContent = HINT; });
$$("a[data-at]").forEach((a) => a.addEventListener("click", () => {
  const [index, start, dur] = a.dataset.at.split(",").map(Number);
  if (S !== steps[index]) pick(index);
  const s = start / S.unit, d = dur / S.unit;
  const all = S.rows.filter((r) => r.kind !== "state").flatMap((r) => r.marks);
  const best = all.reduce((b, m) => { const off = Math.abs(m[0] - s) + Math.abs(m[1] - d); return !b || off < b[0] ? [off, m] : b; }, null);
  if (best && best[0] <= d + S.dur / 500) pinMark(best[1], true); else view(s - d * 2.5, s + d * 3.5);
  P.focus({ preventScroll: true });
}));
draw();
view(0, S.dur);
addEventListener("resize", apply);
addEventListener("beforeprint", () => { pin = null; view(0, S.dur); });
detail.textContent = HINT;
})();
