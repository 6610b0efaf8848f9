"use strict";
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;
const byId = (id) => document.getElementById(id);
for (const tools of all(".tools")) tools.hidden = false;

byId("theme").addEventListener("click", () => {
  const asked = root.dataset.theme;
  const dark = asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

// A text beside the pointer, or beside what has the focus.
const tip = byId("tip");
const hide = () => { tip.hidden = true; };
const short = (value) => Number(value).toLocaleString("en", { maximumSignificantDigits: 6 });
const showTip = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = `${Math.max(0, Math.min(x + 12, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${Math.max(0, Math.min(y + 12, innerHeight - tip.offsetHeight - 8))}px`;
};
addEventListener("scroll", hide, { passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

