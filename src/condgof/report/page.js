"use strict";
(() => {
  document.documentElement.classList.add("js");
  const all = (selector, place = document) => [...place.querySelectorAll(selector)];

  // A row of a table of slices opens its card: by its button, or anywhere else on it.
  const open = (row, wanted) => {
    row.querySelector(".open").setAttribute("aria-expanded", String(wanted));
    row.nextElementSibling.hidden = !wanted;
  };
  const isOpen = (row) => !row.nextElementSibling.hidden;
  for (const row of all(".opens")) {
    open(row, false);
    row.addEventListener("click", () => { if (!String(getSelection())) open(row, !isOpen(row)); });
  }

  for (const sort of all(".sort")) {
    const table = sort.nextElementSibling;
    const buttons = all("button", sort);
    for (const by of buttons) {
      by.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === by));
        const rank = (body) => Number(body.dataset[by.dataset.by]);
        table.append(...[...table.tBodies].sort((a, b) => rank(a) - rank(b)));
      });
    }
  }

  for (const more of all(".all")) {
    const table = more.previousElementSibling;
    table.classList.add("short");
    more.addEventListener("click", () => { table.classList.remove("short"); more.remove(); });
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

  // On paper: what was run.
  const folded = [];
  addEventListener("beforeprint", () => {
    for (const box of all("details.printed:not([open])")) { box.open = true; folded.push(box); }
  });
  addEventListener("afterprint", () => { for (const box of folded.splice(0)) box.open = false; });
})();
