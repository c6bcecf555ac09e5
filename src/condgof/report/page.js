"use strict";
(() => {
  document.documentElement.classList.add("js");
  const all = (selector, place = document) => [...place.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const page = JSON.parse(byId("marks").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  const make = (tag, attributes = {}, text = "") => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };
  const draw = (parent, tag, attributes) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    parent.append(element);
    return element;
  };
  const button = (words, action) => {
    const element = make("button", { type: "button" }, words);
    element.addEventListener("click", action);
    return element;
  };

  // Charts: what is pointed at, and what is highlighted.

  /** The places of one SVG: pixels of its view box from values of the data, and back. */
  class Frame {
    constructor(svg) {
      [this.left, this.right, this.floor, this.top, this.x0, this.x1, this.y0, this.y1] =
        svg.dataset.frame.split(" ").map(Number);
    }
    x(value) { return this.left + (this.right - this.left) * (value - this.x0) / (this.x1 - this.x0); }
    y(value) { return this.floor - (this.floor - this.top) * (value - this.y0) / (this.y1 - this.y0); }
    /** The rectangle of a spot: sides that are null are edges. */
    box([left, right, low, high]) {
      const inside = (value, a, b) => Math.min(Math.max(value, Math.min(a, b)), Math.max(a, b));
      const x = (value, edge) => value === null ? edge : inside(this.x(value), this.left, this.right);
      const y = (value, edge) => value === null ? edge : inside(this.y(value), this.floor, this.top);
      return { left: x(left, this.left), right: x(right, this.right), top: y(high, this.top), floor: y(low, this.floor) };
    }
  }

  const tip = make("div", { class: "tip", role: "status", "aria-live": "polite", hidden: "" });
  document.body.append(tip);
  const hideTip = () => { tip.hidden = true; for (const old of all(".pointed")) old.remove(); };
  const showTip = (lines, at) => {
    tip.replaceChildren(...lines.map(([name, value], i) => {
      const line = make(i ? "div" : "b");
      line.append(...(name ? [make("span", {}, `${name} `)] : []), value);
      return line;
    }));
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(at.x - width / 2, 4), document.documentElement.clientWidth - width - 4);
    const above = at.y - height - 14;
    tip.style.left = `${left + scrollX}px`;
    tip.style.top = `${(above > 4 ? above : at.y + 18) + scrollY}px`;
  };

  const NEAR = 14; // pixels between the pointer and a point that it points at
  class Picture {
    constructor(figure) {
      this.figure = figure;
      this.spots = JSON.parse(figure.dataset.spots ?? "[]");
      this.points = JSON.parse(figure.dataset.points ?? "[]");
      this.heads = all("thead th", figure).map((cell) => cell.textContent);
      this.cells = all("tbody tr", figure).map((row) => [...row.cells].map((cell) => cell.textContent));
      this.svgs = all("svg.chart", figure);
      this.at = -1;
      for (const svg of this.svgs) this.listen(svg, new Frame(svg));
      this.addDownloads();
    }

    listen(svg, frame) {
      if (!this.spots.length && !this.points.length) return;
      svg.setAttribute("tabindex", "0");
      svg.setAttribute("role", "group");
      svg.setAttribute("aria-roledescription", "chart; arrow keys read its values");
      svg.addEventListener("pointermove", (event) => this.pointAt(svg, frame, event));
      svg.addEventListener("pointerdown", (event) => this.pointAt(svg, frame, event));
      svg.addEventListener("pointerleave", hideTip);
      svg.addEventListener("blur", hideTip);
      svg.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") hideTip();
        if (!step) return;
        event.preventDefault();
        const count = this.spots.length || this.points.length;
        this.at = (this.at + step + count) % count;
        if (this.spots.length) this.showSpot(svg, frame, this.at);
        else this.showPoint(svg, frame, this.points[this.at]);
      });
    }

    onScreen(svg, x, y) {
      const { left, top, width } = svg.getBoundingClientRect();
      const scale = width / svg.viewBox.baseVal.width;
      return { x: left + x * scale, y: top + y * scale };
    }

    pointAt(svg, frame, event) {
      const { left, top, width } = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / width;
      const x = (event.clientX - left) * scale;
      const y = (event.clientY - top) * scale;
      let nearest = null;
      let distance = NEAR * scale;
      for (const point of this.points) {
        const away = Math.hypot(frame.x(point[0]) - x, frame.y(point[1]) - y);
        if (away < distance) { nearest = point; distance = away; }
      }
      if (nearest) { this.showPoint(svg, frame, nearest); return; }
      const spot = this.spots.findIndex((sides) => {
        const box = frame.box(sides);
        return x >= box.left && x <= box.right && y >= box.top && y <= box.floor;
      });
      if (spot >= 0) this.showSpot(svg, frame, spot); else hideTip();
    }

    showSpot(svg, frame, number) {
      const cells = this.cells[number];
      if (!cells) return;
      hideTip();
      this.at = number;
      const box = frame.box(this.spots[number]);
      draw(svg, "rect", { class: "pointed", x: box.left, y: box.top, width: Math.max(box.right - box.left, 1), height: Math.max(box.floor - box.top, 1) });
      const lines = cells.map((text, k) => [k ? this.heads[k] : "", text]);
      showTip(lines, this.onScreen(svg, (box.left + box.right) / 2, box.top));
    }

    showPoint(svg, frame, [x, y, number]) {
      const row = page.rows[number];
      if (!row) return;
      hideTip();
      draw(svg, "circle", { class: "pointed", cx: frame.x(x), cy: frame.y(y), r: 5 });
      const lines = page.columns.map((name, k) => [name, row.texts[k]]);
      showTip([["row", row.label ?? number], ...lines], this.onScreen(svg, frame.x(x), frame.y(y)));
    }

    highlight(selection) {
      for (const old of all(".lit", this.figure)) old.remove();
      if (!selection) return;
      const shares = selection.shares[this.figure.dataset.name];
      for (const svg of this.svgs) {
        const frame = new Frame(svg);
        const group = draw(svg, "g", { class: "lit" });
        if (shares) {
          this.spots.forEach((sides, k) => {
            if (!shares[k]) return;
            const box = frame.box(sides);
            draw(group, "rect", { x: box.left, y: box.top, width: Math.max(box.right - box.left, 0), height: Math.max(box.floor - box.top, 0), "fill-opacity": (0.08 + 0.3 * shares[k]).toFixed(2) });
          });
        }
        for (const [x, y, number] of this.points) {
          if (page.rows[number]?.sets?.includes(selection.number)) {
            draw(group, "circle", { cx: frame.x(x).toFixed(1), cy: frame.y(y).toFixed(1), r: 3.4 });
          }
        }
      }
    }

    addDownloads() {
      const behind = this.figure.querySelector(".behind");
      if (!behind) return;
      const name = slug(this.figure.querySelector("figcaption").textContent);
      const tools = make("div", { class: "tools" });
      const shown = () => this.svgs.find((svg) => svg.checkVisibility()) ?? this.svgs[0];
      tools.append(
        button("CSV", () => save(`${name}.csv`, "text/csv", csv([this.heads, ...this.cells]))),
        button("SVG", () => save(`${name}.svg`, "image/svg+xml", asText(shown()))),
        button("PNG", () => savePng(`${name}.png`, shown())),
      );
      behind.querySelector("summary").after(tools);
    }
  }

  // Files.

  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 50) || "chart";
  const save = (name, type, content) => {
    const link = make("a", { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  /** A cell of a CSV file: plain numbers; words that a spreadsheet would run are quoted. */
  const cellText = (text) => {
    const plain = text.trim().replace(/^[+−]?[\d,]+(\.\d+)?([eE][+−-]?\d+)?$/, (number) => number.replace(/,/g, "")).replace(/^\+(?=\d)/, "").replace(/−(?=\d)/g, "-");
    const safe = /^[=@\t\r]|^[+-](?![\d.])/.test(plain) ? `'${plain}` : plain;
    return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
  };
  const csv = (rows) => `\ufeff${rows.map((row) => row.map(cellText).join(",")).join("\r\n")}\r\n`;
  const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];
  /** An SVG that looks the same without the style sheet of this page. */
  const asText = (svg) => {
    const copy = svg.cloneNode(true);
    const [from, to] = [all("*", svg), all("*", copy)];
    from.forEach((element, i) => {
      const style = getComputedStyle(element);
      for (const look of LOOKS) to[i].setAttribute(look, style.getPropertyValue(look));
      to[i].removeAttribute("class");
    });
    for (const name of ["class", "tabindex", "data-frame"]) copy.removeAttribute(name);
    copy.setAttribute("xmlns", SVG);
    const paper = document.createElementNS(SVG, "rect");
    paper.setAttribute("width", "100%");
    paper.setAttribute("height", "100%");
    paper.setAttribute("fill", getComputedStyle(document.documentElement).backgroundColor);
    copy.prepend(paper);
    return new XMLSerializer().serializeToString(copy);
  };
  const savePng = (name, svg) => {
    const image = new Image();
    image.addEventListener("load", () => {
      const { width, height } = svg.viewBox.baseVal;
      const canvas = make("canvas", { width: 2 * width, height: 2 * height });
      canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
      canvas.toBlob((blob) => save(name, "image/png", blob));
    });
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asText(svg))}`;
  };

  const pictures = all("figure").map((figure) => new Picture(figure));

  const numbersSwitch = button("Show numbers and data", () => {
    const wanted = numbersSwitch.getAttribute("aria-pressed") !== "true";
    numbersSwitch.setAttribute("aria-pressed", String(wanted));
    for (const box of all(".behind")) box.open = wanted;
  });
  numbersSwitch.setAttribute("aria-pressed", "false");
  numbersSwitch.className = "switch";
  document.querySelector("header").append(numbersSwitch);

  // Effects, subgroups and groups: their cards open, and their rows are highlighted.

  const rowTable = document.querySelector("table.rows");
  const bodies = rowTable ? [...rowTable.tBodies[0].rows] : [];
  const chooser = make("select", { "aria-label": "Rows of" });
  const finder = make("input", { type: "search", placeholder: "filter by words", "aria-label": "Rows that contain" });
  const shownCount = make("span", { class: "soft", role: "status" });
  const filterRows = () => {
    const words = finder.value.trim().toLowerCase();
    const set = chooser.value;
    let count = 0;
    for (const row of bodies) {
      const inSet = !set || row.dataset.sets.split(" ").includes(set);
      row.hidden = !inSet || !row.textContent.toLowerCase().includes(words);
      count += !row.hidden;
    }
    shownCount.textContent = `${count} of ${bodies.length} listed rows`;
  };

  const lamp = make("div", { class: "lamp", role: "status", hidden: "" });
  document.body.append(lamp);
  const select = (key) => {
    const number = page.selections.findIndex((one) => one.key === key);
    const selection = number < 0 ? null : { ...page.selections[number], number };
    for (const picture of pictures) picture.highlight(selection);
    for (const row of all("[data-key]")) row.classList.toggle("chosen", Boolean(selection) && row.dataset.key === key);
    for (const row of bodies) row.classList.toggle("chosen", Boolean(selection) && row.dataset.sets.split(" ").includes(String(number)));
    lamp.hidden = !selection;
    if (selection) lamp.replaceChildren(make("span", {}, `Highlighted: ${selection.words}`), button("Clear", () => { select(null); link(""); }));
    chooser.value = selection && [...chooser.options].some((one) => one.value === String(number)) ? String(number) : "";
    if (rowTable) filterRows();
  };
  const link = (key) => {
    try { history.replaceState(null, "", key ? `#${key}` : location.pathname); } catch { if (key) location.hash = key; }
  };
  const open = (row, wanted) => {
    row.querySelector(".open").setAttribute("aria-expanded", String(wanted));
    row.nextElementSibling.hidden = !wanted;
  };
  const isOpen = (row) => !row.nextElementSibling.hidden;
  for (const row of all(".opens")) {
    open(row, false);
    row.addEventListener("click", () => {
      if (String(getSelection())) return;
      const wanted = !isOpen(row);
      open(row, wanted);
      select(wanted ? row.dataset.key : null);
      link(wanted ? row.parentElement.id : "");
    });
  }
  const follow = () => {
    const target = byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    const row = target.querySelector(".opens");
    if (row && target.matches("tbody")) { open(row, true); select(row.dataset.key); }
    target.scrollIntoView();
  };
  addEventListener("hashchange", follow);

  // Tables: sorted by a click on the head of a column.

  const value = (cell) => {
    const text = cell.dataset.v ?? cell.textContent;
    const number = Number(text);
    return text.trim() === "" || Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b);
  for (const table of all("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      if (!head.textContent.trim()) return;
      const sort = make("button", { type: "button", class: "by" });
      sort.append(...head.childNodes);
      head.append(sort);
      sort.addEventListener("click", () => {
        const ways = { ascending: -1, descending: 1 };
        const way = ways[head.getAttribute("aria-sort")] ?? (head.dataset.first === "down" ? -1 : 1);
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
        const many = table.tBodies.length > 1;
        const units = many ? [...table.tBodies] : [...(table.tBodies[0]?.rows ?? [])];
        const cell = (unit) => (many ? unit.rows[0] : unit).cells[column];
        units.sort((a, b) => way * compare(value(cell(a)), value(cell(b))));
        (many ? table : table.tBodies[0]).append(...units);
      });
    });
  }
  for (const more of all(".all")) {
    const table = more.previousElementSibling;
    table.classList.add("short");
    more.addEventListener("click", () => { table.classList.remove("short"); more.remove(); });
  }

  if (rowTable) {
    chooser.append(make("option", { value: "" }, "all listed rows"));
    page.selections.forEach((one, number) => chooser.append(make("option", { value: number }, one.words)));
    chooser.addEventListener("change", () => {
      const one = page.selections[Number(chooser.value)];
      if (chooser.value === "") select(null); else select(one.key);
    });
    finder.addEventListener("input", filterRows);
    const download = button("Download CSV", () => {
      const heads = [...rowTable.tHead.rows[0].cells].map((cell) => cell.textContent);
      const kept = [...rowTable.tBodies[0].rows].filter((row) => !row.hidden);
      save("rows.csv", "text/csv", csv([heads, ...kept.map((row) => [...row.cells].map((cell) => cell.textContent))]));
    });
    const tools = make("div", { class: "tools" });
    tools.append(chooser, finder, download, shownCount);
    rowTable.parentElement.before(tools);
    filterRows();
  }

  for (const copy of all(".copy")) {
    const code = copy.parentElement.querySelector("code");
    copy.addEventListener("click", async () => {
      getSelection().selectAllChildren(code);
      let done = true;
      try { await navigator.clipboard.writeText(code.textContent); } catch { done = document.execCommand("copy"); }
      copy.textContent = done ? "Copied" : "Press Ctrl+C";
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }

  follow();

  // On paper: what was run.
  const folded = [];
  addEventListener("beforeprint", () => {
    for (const box of all("details.printed:not([open])")) { box.open = true; folded.push(box); }
  });
  addEventListener("afterprint", () => { for (const box of folded.splice(0)) box.open = false; });
})();
