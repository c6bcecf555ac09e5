"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");

  const button = document.querySelector(".theme");
  const prefers = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefers.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  prefers.addEventListener("change", name);
  name();

  for (const place of document.querySelectorAll(".where")) {
    const panels = [...place.querySelectorAll(".panel")];
    const tabs = [...place.querySelectorAll(".tab")];
    const marks = [...place.querySelectorAll(".mark")];
    if (!panels.length) continue;

    const show = (id) => {
      for (const panel of panels) panel.hidden = panel.id !== id;
      for (const tab of tabs) {
        const on = tab.dataset.loc === id;
        tab.setAttribute("aria-selected", String(on));
        tab.tabIndex = on ? 0 : -1;
      }
      for (const mark of marks) {
        const on = mark.dataset.loc === id;
        mark.classList.toggle("on", on);
        if (on) mark.setAttribute("aria-current", "true"); else mark.removeAttribute("aria-current");
      }
    };

    const list = place.querySelector(".tabs");
    list.setAttribute("role", "tablist");
    for (const item of list.children) item.setAttribute("role", "presentation");
    for (const tab of tabs) {
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-controls", tab.dataset.loc);
    }
    for (const panel of panels) panel.setAttribute("role", "tabpanel");

    // Marks are on every map of this check; those of the first can be tabbed to, the others only pointed at.
    const maps = [...place.querySelectorAll(".maps svg")].filter((map) => map.querySelector(".mark"));
    maps.slice(1).forEach((map) => map.querySelectorAll(".mark").forEach((mark) => mark.setAttribute("tabindex", "-1")));

    const move = (group, from, event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const last = group.length - 1;
      const to = step ? (from + step + group.length) % group.length : { Home: 0, End: last }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(group[to].dataset.loc);
      group[to].focus();
    };
    const open = (event) => {
      event.preventDefault();
      const id = event.currentTarget.dataset.loc;
      show(id);
      const panel = document.getElementById(id);
      if (event.detail === 0) panel.focus(); // Enter: on to what it says
      else panel.scrollIntoView({ block: "nearest" });
    };
    const groups = [tabs, ...maps.map((map) => [...map.querySelectorAll(".mark")])];
    for (const group of groups) {
      group.forEach((item, i) => {
        item.addEventListener("click", open);
        item.addEventListener("keydown", (event) => move(group, i, event));
        item.addEventListener("focus", () => show(item.dataset.loc));
        if (item.classList.contains("mark")) item.addEventListener("pointerenter", () => show(item.dataset.loc));
      });
    }

    const wanted = panels.find((panel) => `#${panel.id}` === location.hash);
    show((wanted || panels[0]).id);
    addEventListener("hashchange", () => {
      const panel = panels.find((p) => `#${p.id}` === location.hash);
      if (panel) show(panel.id);
    });
  }

  // What is folded away on the screen is on paper.
  const folded = [];
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll("details:not([open])")) { box.open = true; folded.push(box); }
  });
  addEventListener("afterprint", () => { for (const box of folded.splice(0)) box.open = false; });
})();
