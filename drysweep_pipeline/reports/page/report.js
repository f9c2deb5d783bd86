"use strict";
// What is wider than its place says that it is, which neither a finger nor a printed bar tells.
(function () {
  const places = document.querySelectorAll(".scroll");
  const look = () => {
    for (const place of places) place.classList.toggle("wide", place.scrollWidth > place.clientWidth + 1);
  };
  look();
  addEventListener("resize", look);
  document.addEventListener("toggle", look, true);
})();

// The filter over the findings. Rows that are in the page are used as they are; those of a long list that are not come
// from the data beside it, and become rows when they are shown. Whatever others wrote is only ever set as text.
(function () {
  const form = document.getElementById("filter");
  if (!form) return;
  const body = document.querySelector("#list tbody");
  const said = document.getElementById("shown");
  const more = document.getElementById("more");
  const page = 100;
  const names = ["severity", "status", "strategy", "owner"];
  const column = { severity: 1, status: 2, strategy: 4, owner: 5 };
  const text = (cell) => cell.textContent;

  const present = Array.from(body.rows, (row) => {
    const cells = Array.from(row.cells, text);
    return { row, cells, low: cells.join("\n").toLowerCase() };
  });
  const island = document.getElementById("later");
  const later = (island ? JSON.parse(island.textContent) : []).map((each) => {
    const [title, severity, status, where, strategies, owner, life] = each;
    const cells = [title, severity, status, where, strategies, owner];
    return { row: null, cells, life, low: cells.concat(life).join("\n").toLowerCase() };
  });
  const all = present.concat(later);
  for (const each of all) each.strategies = each.cells[4].split(", ");

  const link = /https?:\/\/[^\s<>"'`]+/g;
  function put(line, parent) {
    let from = 0;
    for (const found of line.matchAll(link)) {
      parent.append(line.slice(from, found.index));
      const a = document.createElement("a");
      a.href = found[0];
      a.rel = "noopener noreferrer nofollow";
      a.textContent = found[0];
      parent.append(a);
      from = found.index + found[0].length;
    }
    parent.append(line.slice(from));
  }
  function made(each) {
    if (each.row) return each.row;
    const row = (each.row = body.insertRow());
    each.cells.forEach((cell, number) => {
      const made = document.createElement(number ? "td" : "th");
      if (!number) made.scope = "row";
      if (number === 1 && (cell === "blocker" || cell === "major")) made.className = "b";
      made.textContent = cell;
      row.append(made);
    });
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const list = document.createElement("ul");
    summary.textContent = "its life";
    for (const line of each.life) {
      const item = document.createElement("li");
      put(line, item);
      list.append(item);
    }
    details.append(summary, list);
    row.cells[0].append(details);
    return row;
  }

  const counted = {};
  function offer(name, value) {
    form.elements[name].append(new Option(value + " (" + (counted[name].get(value) || 0) + ")", value));
  }
  function fill() {
    for (const name of names) {
      const counts = (counted[name] = new Map());
      for (const each of all) {
        const values = name === "strategy" ? each.strategies : [each.cells[column[name]]];
        for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
      }
      const values = Array.from(counts.keys());
      if (name !== "severity") values.sort();
      for (const value of values.slice(0, 500)) offer(name, value);
    }
  }
  // An address may name what this page has none of, or what was not offered: asked for all the same, and told as such.
  function choose(name, value) {
    const select = form.elements[name];
    if (value && !Array.from(select.options).some((each) => each.value === value)) offer(name, value);
    select.value = value;
  }

  let matches = all, limit = page, visible = [];
  function wanted() {
    const asked = { q: form.elements.q.value.trim().toLowerCase() };
    for (const name of names) asked[name] = form.elements[name].value;
    return asked;
  }
  function find() {
    const asked = wanted();
    const words = asked.q.split(/\s+/).filter(Boolean);
    matches = all.filter(
      (each) =>
        (!asked.severity || each.cells[1] === asked.severity) &&
        (!asked.status || each.cells[2] === asked.status) &&
        (!asked.strategy || each.strategies.includes(asked.strategy)) &&
        (!asked.owner || each.cells[5] === asked.owner) &&
        words.every((word) => each.low.includes(word))
    );
    limit = page;
    show();
  }
  function show() {
    const next = matches.slice(0, limit);
    const kept = new Set(next);
    for (const each of visible) if (!kept.has(each)) each.row.hidden = true;
    for (const each of next) made(each).hidden = false;
    // Rows that were made for an earlier filter stand where they were made then.
    if (later.length) body.append(...next.map((each) => each.row));
    visible = next;
    said.textContent =
      (matches.length === all.length ? "" : matches.length + " of ") + all.length + (all.length === 1 ? " finding" : " findings") +
      (next.length < matches.length ? ", the first " + next.length + " of them shown" : "");
    // The sentence above the list has said this much; on paper, where nothing can be pressed, once is enough.
    said.classList.toggle("all", next.length === all.length);
    const left = matches.length - next.length;
    more.hidden = !left;
    more.firstElementChild.textContent = "Show " + Math.min(left, page * 5) + " more";
  }

  function keep() {
    const asked = new URLSearchParams();
    for (const name of ["q"].concat(names)) if (form.elements[name].value) asked.set(name, form.elements[name].value);
    const hash = asked.toString();
    if (hash || location.hash.includes("=")) history.replaceState(null, "", hash ? "#" + hash : "#findings");
  }
  function take() {
    if (!location.hash.includes("=")) return false;
    const asked = new URLSearchParams(location.hash.slice(1));
    form.elements.q.value = asked.get("q") || "";
    for (const name of names) choose(name, asked.get(name) || "");
    return true;
  }

  fill();
  form.hidden = false;
  for (const each of present) each.row.hidden = true;
  const given = take();
  find();
  if (given) document.getElementById("findings").scrollIntoView();

  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { find(); keep(); }, 120);
  });
  form.addEventListener("submit", (event) => { event.preventDefault(); find(); keep(); });
  form.addEventListener("reset", () => setTimeout(() => { find(); keep(); }));
  more.firstElementChild.addEventListener("click", () => {
    const first = visible.length;
    limit += page * 5;
    show();
    const summary = visible[first] && visible[first].row.querySelector("summary");
    if (summary) summary.focus();
  });
  addEventListener("hashchange", () => { if (take()) find(); });

  // A printed page cannot be turned to the next part: what matches is printed, up to a thousand.
  let before = page;
  addEventListener("beforeprint", () => { before = limit; limit = Math.max(limit, 1000); show(); });
  addEventListener("afterprint", () => { limit = before; show(); });
})();
