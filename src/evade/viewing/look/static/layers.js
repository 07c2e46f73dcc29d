// Maps before and after each noisy layer, and the sigma of its weights.

import {ask, latest} from "./socket.js";
import {cellAt, floats, hover, paintHeat, short} from "./paint.js";
import {play} from "./play.js";
import {draws} from "./draws.js";

const $ = id => document.getElementById(id);
const AFTER_STEP = 350;
let about, report, timer, isVisible = false;

export function setUp(hello, tellError) {
  about = hello;
  report = tellError;
  if (!about.has_draws) {
    $("layers-body").className = "empty";
    $("layers-body").textContent = "This run's world model has no noisy layers.";
    return;
  }
  $("layer").replaceChildren(...about.layers.map(name => new Option(titleOf(name), name)));
  $("layer-action").replaceChildren(...about.actions.map((name, index) => new Option(name, index)));
  for (const id of ["layer", "layer-draw", "layer-action"]) $(id).onchange = () => { refresh(); if (id === "layer") loadSigma(); };
  play.listeners.push(() => { clearTimeout(timer); timer = setTimeout(() => { if (!play.isStepping()) refresh(); }, AFTER_STEP); });
  document.addEventListener("look:loaded", () => { refresh(); loadSigma(); });
  // Nothing is computed that nobody sees.
  new IntersectionObserver(([entry]) => { isVisible = entry.isIntersecting; if (isVisible) { refresh(); loadSigma(); } }).observe($("layers"));
}

// reward_path.events.up1.interaction: interaction, before up stage 1; local_heads.events.local1.interaction likewise.
function titleOf(name) {
  const parts = name.split("."), stage = parts.map(part => /^(up|local)(\d+)$/.exec(part)).find(Boolean);
  const kinds = {up: "up stage", local: "local convolution"};
  return stage ? `${parts.at(-1)}, before ${kinds[stage[1]]} ${stage[2]}` : parts.at(-1).replaceAll("_", " ");
}

const refresh = latest(async () => {
  if (!isVisible || !play.view) return;
  const layer = $("layer").value, draw = draws.pair[$("layer-draw").value === "a" ? 0 : 1] ?? "1";
  $("layer-note").textContent = `${$("layer-draw").value === "a" ? "first" : "second"} draw: ${draw}`;
  try {
    const maps = await ask("maps", {layer, draw, action: +$("layer-action").value, edits: draws.edits});
    showMaps(maps);
  } catch (error) {
    $("maps").replaceChildren(Object.assign(document.createElement("p"), {textContent: "This layer works on whole steps and has no maps; its σ is shown."}));
    if (!/has no maps/.test(error.message)) report(error);
  }
});

function showMaps(maps) {
  const cells = ["", "before", "after, mean", "after, draw", "draw − mean"].map(words => Object.assign(document.createElement("p"), {className: "top", textContent: words}));
  const [before, mean, draw] = ["before", "mean", "draw"].map(name => ({...maps[name], values: floats(maps[name])}));
  const change = {...mean, values: mean.values.map((value, index) => draw.values[index] - value)};
  const most = values => values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  const shared = Math.max(most(mean.values), most(draw.values)), scales = [most(before.values), shared, shared, most(change.values)];
  maps.channels.forEach((channel, index) => {
    const label = document.createElement("p"), name = document.createElement("b");
    name.textContent = `channel ${channel}`;
    label.append(name, `changes by ${short(maps.changes[index], true)}`);
    cells.push(label);
    [before, mean, draw, change].forEach((map, column) => {
      const size = map.w * map.h, values = map.values.subarray(index * size, (index + 1) * size);
      const canvas = document.createElement("canvas");
      if (index < map.n) {
        paintHeat(canvas, values, map.w, map.h, scales[column]);
        canvas.dataset.values = JSON.stringify([...values]);
        canvas.dataset.map = `${["before", "mean", "draw", "difference"][column]} ${channel}`;
        hover(canvas, event => {
          const cell = cellAt(canvas, event, map.h, map.w);
          return cell && `row ${cell[0]}, column ${cell[1]}: ${values[cell[0] * map.w + cell[1]].toPrecision(4)}`;
        });
      }
      cells.push(canvas);
    });
  });
  $("maps").dataset.layer = maps.layer;
  $("maps").replaceChildren(...cells);
}

async function loadSigma() {
  try {
    const {layer, sigma} = await ask("sigma", {layer: $("layer").value});
    const values = floats(sigma), known = [...values].filter(value => !Number.isNaN(value)), most = Math.max(...known);
    const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
    const canvas = $("sigma");
    paintHeat(canvas, values, sigma.w, sigma.h, most, false);
    canvas.dataset.layer = layer;
    $("sigma-note").textContent = `${known.length.toLocaleString("en")} weights, mean ${short(mean, true)}, largest ${short(most, true)}; a weight θ becomes θ(1 + σε).`;
    canvas.tipOf = event => {
      const cell = cellAt(canvas, event, sigma.h, sigma.w), value = cell && values[cell[0] * sigma.w + cell[1]];
      return cell && !Number.isNaN(value) ? `row ${cell[0]}, column ${cell[1]}: σ ${value.toPrecision(3)}` : null;
    };
    if (!canvas.isHovered) { canvas.isHovered = true; hover(canvas, event => canvas.tipOf(event)); }
  } catch (error) { report(error); }
}
