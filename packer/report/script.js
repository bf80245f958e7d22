"use strict";
// Everything works without this script; it adds the theme switch, the plot's axis switch, search and sorting.
(() => {
  const FIRST_ROWS = 100;
  const root = document.documentElement;

  const remembered = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("bayplan-theme");
      localStorage.setItem("bayplan-theme", value);
    } catch { /* A file opened from disk may have no storage: the choice then lasts for this view. */ }
    return null;
  };

  const theme = () => {
    const button = document.getElementById("theme");
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
    const show = () => button.setAttribute("aria-pressed", String(isDark()));
    const saved = remembered();
    if (saved === "light" || saved === "dark") root.dataset.theme = saved;
    button.hidden = false;
    button.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      remembered(root.dataset.theme);
      show();
    });
    system.addEventListener("change", show);
    show();
  };

  const axis = () => {
    const group = document.querySelector(".switch");
    if (!group) return;
    group.hidden = false;
    const buttons = [...group.querySelectorAll("button")];
    for (const button of buttons) {
      button.addEventListener("click", () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
        for (const plot of document.querySelectorAll("[data-plot]")) plot.hidden = plot.dataset.plot !== button.dataset.axis;
      });
    }
  };

  const nodes = () => {
    const table = document.getElementById("node-table");
    if (!table) return;
    const body = table.tBodies[0];
    const input = document.getElementById("search-nodes");
    const status = document.getElementById("search-count");
    const more = document.getElementById("more-nodes");
    const rows = [...body.rows].map((row) => ({ row, text: row.textContent.toLowerCase(), keys: null }));
    let all = rows.length <= FIRST_ROWS;

    const refresh = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      for (const { row, text } of rows) {
        const hit = words.every((word) => text.includes(word));
        found += hit ? 1 : 0;
        row.hidden = !hit || (!all && found > FIRST_ROWS);
      }
      const shown = all ? found : Math.min(found, FIRST_ROWS);
      const plural = found === 1 ? "row" : "rows";
      const part = shown < found ? `, the first ${shown} shown` : "";
      status.textContent = words.length ? `${found.toLocaleString("en")} ${plural} found${part}` : `${found.toLocaleString("en")} ${plural}${part}`;
      more.hidden = shown >= found;
      more.textContent = `Show all ${found.toLocaleString("en")}`;
    };

    const value = (row, column, numeric) => {
      const cell = row.cells[column];
      return numeric ? Number(cell.dataset.value) : cell.textContent;
    };

    const sort = (column, numeric, heading) => {
      const falling = heading.getAttribute("aria-sort") === "descending" || (!heading.hasAttribute("aria-sort") && !numeric);
      for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", falling ? "ascending" : "descending");
      const sign = falling ? 1 : -1;
      for (const entry of rows) entry.keys = value(entry.row, column, numeric);
      rows.sort((a, b) => sign * (numeric ? a.keys - b.keys : a.keys.localeCompare(b.keys, "en", { numeric: true })));
      body.append(...rows.map((entry) => entry.row));
      refresh();
    };

    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.textContent = heading.textContent;
      heading.replaceChildren(button);
      button.addEventListener("click", () => sort(column, heading.dataset.sort === "number", heading));
    });
    let waiting = 0;
    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(refresh, rows.length > 1000 ? 120 : 0);
    });
    more.addEventListener("click", () => {
      all = true;
      const next = rows.find(({ row }) => row.hidden);
      refresh();
      const focus = next && next.row.querySelector("summary");
      if (focus) focus.focus();
    });
    document.querySelector(".search").hidden = false;
    refresh();
  };

  theme();
  axis();
  nodes();
})();
