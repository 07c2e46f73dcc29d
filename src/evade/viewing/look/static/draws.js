// Rewards under many draws, what-if changes of the frame, and two draws side by side.

import {ask, latest} from "./socket.js";
import {COLOURS, cellAt, hover, paint, prepare, short, ticks, chart} from "./paint.js";
import {blurAfterPointer, play, show} from "./play.js";

const $ = id => document.getElementById(id);
// Playing goes first: draws are asked after this many ms without a step, later for frames of many cells.
const AFTER_STEP = 120, AFTER_LARGE_STEP = 1000, LARGE = 4000;
export const draws = {pair: [], edits: []};
let about, report, strip = null, before = null, points = [], channel = 0, cursor = null, dragged = null, objects = [], timer;

export function setUp(hello, tellError) {
  about = hello;
  report = tellError;
  for (const id of ["what-if", "try-objects", "ghost"]) $(id).hidden = !about.is_grid;
  $("no-draws").hidden = about.has_draws;
  document.body.classList.toggle("without-draws", !about.has_draws);
  $("pair").hidden = !about.has_draws;
  setUpPalette();
  setUpGrid();
  setUpPair();
  document.querySelectorAll("input[name=count]").forEach(radio => radio.onchange = event => { blurAfterPointer(event); refresh(); });
  $("zoom").onchange = drawStrip;
  $("undo").onclick = event => { blurAfterPointer(event); change([]); };
  play.listeners.push(viewChanged);
  document.addEventListener("look:loaded", refresh);
  new ResizeObserver(() => { drawStrip(); drawTrace(); }).observe($("strip"));
  hover($("strip"), event => {
    const near = nearest(event);
    return near && (near.name === "mean" ? `mean model: ${short(near.value, true)}` : `draw ${near.name}: ${short(near.value, true)}`);
  });
  $("strip").onclick = event => {
    const near = nearest(event);
    if (near && near.name !== "mean") choosePair([near.name, draws.pair[0] ?? near.name]);
  };
}

// ---- the frame on screen

function viewChanged(view) {
  const [, a, b] = view.dreams;
  showDream("a", a);
  showDream("b", b);
  drawTrace();
  draws.edits = [];
  before = null;
  $("undo").disabled = true;
  if (about.is_grid) paintGrid(view.game.picture);
  clearTimeout(timer);
  // A step on its way brings another frame: its draws will be asked instead.
  timer = setTimeout(() => { if (!play.isStepping()) refresh(); }, about.rows * about.columns < LARGE ? AFTER_STEP : AFTER_LARGE_STEP);
}

const refresh = latest(async () => {
  const count = +document.querySelector("input[name=count]:checked").value, edits = draws.edits, view = play.view;
  try {
    let answer;
    do {
      answer = await ask("rewards", {count, edits});
      if (view !== play.view || edits !== draws.edits) return; // the next call is on its way
      strip = answer;
      if (!edits.length) before = answer;
      objects = answer.objects;
      if (about.is_grid) paintGrid(answer.picture);
      drawStrip();
    } while (answer.draws.length < answer.wanted);
    $("strip").dataset.draws = answer.draws.length;
    $("strip").dataset.edits = JSON.stringify(edits);
    $("strip").dataset.rewards = JSON.stringify({mean: answer.mean, draws: answer.draws});
  } catch (error) { report(error); }
});

function drawStrip() {
  if (!strip || !about) return;
  const canvas = $("strip"), names = about.actions;
  canvas.style.height = `${Math.max(120, names.length * (names.length > 6 ? 26 : 58) + 40)}px`;
  const {context, width, height} = prepare(canvas);
  const [left, right, top, bottom] = [Math.min(120, 14 + 7 * Math.max(...names.map(name => name.length))), 14, 6, 26];
  const shown = [...strip.mean, ...strip.draws.flat()];
  const range = $("zoom").checked ? [] : [about.lowest_reward, about.highest_reward, 0];
  let [low, high] = [Math.min(...shown, ...range), Math.max(...shown, ...range)];
  if (high - low < 1e-9) [low, high] = [low - 0.5e-3, high + 0.5e-3];
  const pad = 0.04 * (high - low);
  [low, high] = [low - pad, high + pad];
  const x = value => left + (value - low) / (high - low) * (width - left - right);
  const band = (height - top - bottom) / names.length;
  context.strokeStyle = "#2a2f3b";
  context.fillStyle = COLOURS.soft;
  context.textAlign = "center";
  for (const tick of ticks(low, high, width < 420 ? 3 : 5)) {
    context.beginPath(); context.moveTo(x(tick), top); context.lineTo(x(tick), height - bottom); context.stroke();
    context.fillText(short(tick, true), x(tick), height - 8);
  }
  points = [];
  names.forEach((name, action) => {
    const middle = top + band * (action + 0.5);
    context.textAlign = "right";
    context.fillStyle = "#eceef2";
    context.fillText(name, left - 10, middle + 4);
    if (before && draws.edits.length) dots(before.draws, action, x, middle, band, "#8f98aa40", 3, false);
    dots(strip.draws, action, x, middle, band, "#c3cad8b0", 3, true);
    for (const [key, draw] of [["b", draws.pair[1]], ["a", draws.pair[0]]]) {
      const value = strip.draws[+draw]?.[action];
      if (draw === undefined || value === undefined || !/^\d+$/.test(draw)) continue;
      context.fillStyle = COLOURS[key];
      context.beginPath(); context.arc(x(value), middle + jitter(+draw) * band, 5, 0, 7); context.fill();
    }
    context.strokeStyle = COLOURS.mean;
    context.lineWidth = 3;
    context.beginPath(); context.moveTo(x(strip.mean[action]), middle - band * 0.38); context.lineTo(x(strip.mean[action]), middle + band * 0.38); context.stroke();
    context.lineWidth = 1;
    points.push({x: x(strip.mean[action]), y: middle - band * 0.38, name: "mean", value: strip.mean[action]});
  });
  showVerdict();

  function dots(rows, action, x, middle, band, colour, size, isLive) {
    context.fillStyle = colour;
    rows.forEach((row, draw) => {
      const at = [x(row[action]), middle + jitter(draw) * band];
      context.beginPath(); context.arc(...at, size, 0, 7); context.fill();
      if (isLive) points.push({x: at[0], y: at[1], name: `${draw}`, value: row[action]});
    });
  }
}

// Spreads dots over the height of their row; the same draw always at the same height.
const jitter = draw => ((draw * 0.6180339887) % 1 - 0.5) * 0.62;

function nearest(event) {
  const box = $("strip").getBoundingClientRect(), at = [event.clientX - box.left, event.clientY - box.top];
  const distance = point => (point.x - at[0]) ** 2 + (point.y - at[1]) ** 2;
  const best = points.reduce((one, other) => distance(other) < distance(one) ? other : one, points[0]);
  return best && distance(best) < 200 ? best : null;
}

function showVerdict() {
  const {total, beyond_scale: beyond, draws: rows} = strip;
  const range = about.highest_reward - about.lowest_reward, share = total / range;
  const verdict = share < 0.01 ? "Draws hardly disagree here" : share < 0.05 ? "Draws disagree a little here" : "Draws disagree here";
  const change = draws.edits.length && before ? ` Before the change it was ${short(before.total, true)}.` : "";
  $("strip-text").textContent = about.has_draws
    ? `${verdict}: they differ by ${short(total, true)} points (root mean square over ${rows.length} draws), ${short(beyond, true)} of it by more than one common scale.${change}`
    : "There are no draws to compare: the red line is the only model's expected reward.";
  const full = Math.max(0.3 * range, total);
  $("bar-beyond").style.width = `${100 * beyond / full}%`;
  $("bar-scale").style.width = `${100 * Math.max(0, total - beyond) / full}%`;
}

// ---- what if

function setUpPalette() {
  $("palette").replaceChildren(...about.channels.map(({name, colour}, index) => {
    const button = document.createElement("button"), square = document.createElement("i");
    square.style.background = `rgb(${colour})`;
    button.append(square, name);
    button.setAttribute("role", "radio");
    button.onclick = event => { blurAfterPointer(event); pickChannel(index); };
    return button;
  }));
  pickChannel(Math.min(1, about.channels.length - 1));
}

function pickChannel(index) {
  channel = index;
  [...$("palette").children].forEach((button, at) => button.setAttribute("aria-checked", at === index));
}

function setUpGrid() {
  const grid = $("grid"), at = event => cellAt(grid, event, about.rows, about.columns);
  const things = cell => objects.filter(([, row, column]) => row === cell[0] && column === cell[1]).map(([index]) => index);
  hover(grid, event => {
    const cell = at(event);
    return cell && `row ${cell[0]}, column ${cell[1]}: ${things(cell).map(index => about.channels[index].name).join(", ") || "empty"}`;
  });
  grid.onpointerdown = event => { dragged = at(event); cursor = null; };
  grid.onpointerup = event => {
    const cell = at(event), from = dragged;
    dragged = null;
    if (!cell || !from) return;
    const isSame = cell[0] === from[0] && cell[1] === from[1], held = things(from);
    if (isSame) return change(toggled(draws.edits, [channel, ...cell]));
    // A dragged object is the first one in its cell, unless the chosen kind is there too.
    const kind = held.includes(channel) ? channel : held[0];
    if (kind === undefined) return;
    let edits = toggled(draws.edits, [kind, ...from]);
    if (!things(cell).includes(kind)) edits = toggled(edits, [kind, ...cell]);
    change(edits);
  };
  grid.onkeydown = event => {
    const moves = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key];
    cursor ??= [0, 0];
    if (moves) cursor = [Math.min(about.rows - 1, Math.max(0, cursor[0] + moves[0])), Math.min(about.columns - 1, Math.max(0, cursor[1] + moves[1]))];
    else if (event.key === "Enter" || event.key === " ") change(toggled(draws.edits, [channel, ...cursor]));
    else return;
    event.preventDefault();
    paintGrid(lastPicture);
  };
  grid.onblur = () => { cursor = null; paintGrid(lastPicture); };
}

// An edit made twice is none.
function toggled(edits, edit) {
  const rest = edits.filter(other => other.join() !== edit.join());
  return rest.length === edits.length ? [...edits, edit] : rest;
}

function change(edits) {
  draws.edits = edits;
  $("undo").disabled = !edits.length;
  refresh();
}

let lastPicture = null;

function paintGrid(picture) {
  lastPicture = picture;
  if (!picture) return;
  const grid = $("grid"), size = Math.max(8, Math.round((grid.clientWidth || 240) * (devicePixelRatio || 1) / picture.w));
  const copy = document.createElement("canvas");
  paint(copy, picture);
  [grid.width, grid.height] = [picture.w * size, picture.h * size];
  const context = grid.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(copy, 0, 0, grid.width, grid.height);
  context.strokeStyle = "#ffffff14";
  for (let column = 1; column < picture.w; column++) context.strokeRect(column * size - 0.5, -1, 0, grid.height + 2);
  for (let row = 1; row < picture.h; row++) context.strokeRect(-1, row * size - 0.5, grid.width + 2, 0);
  context.lineWidth = 3;
  context.strokeStyle = "#ffffff";
  for (const [, row, column] of draws.edits) context.strokeRect(column * size + 1.5, row * size + 1.5, size - 3, size - 3);
  if (cursor) { context.strokeStyle = COLOURS.mean; context.strokeRect(cursor[1] * size + 1.5, cursor[0] * size + 1.5, size - 3, size - 3); }
}

// ---- two draws

function setUpPair() {
  if (!about.has_draws) return;
  ["a", "b"].forEach((key, index) => {
    const box = $(`draw-${key}`);
    box.onchange = () => { const pair = [...draws.pair]; pair[index] = box.value.trim(); choosePair(filled(pair)); };
    $(`new-${key}`).onclick = event => {
      blurAfterPointer(event);
      const pair = [...draws.pair];
      pair[index] = `${Math.floor(Math.random() * 1000)}`;
      choosePair(filled(pair));
    };
  });
  // Each draw costs a dream of its own, which large frames make slow: there the first one is chosen by hand.
  if (about.is_grid) choosePair(["1", "2"]);
}

const filled = pair => [pair[0] ?? "1", pair[1] ?? "2"];

async function choosePair(pair) {
  try {
    const view = await ask("pair", {draws: pair});
    draws.pair = pair;
    show(view);
    drawStrip();
  } catch (error) { report(error); }
  ["a", "b"].forEach((key, index) => { $(`draw-${key}`).value = draws.pair[index] ?? ""; });
}

function showDream(key, dream) {
  const canvas = $(`dream-${key}`), words = $(`reward-${key}`);
  if (!dream) { words.textContent = draws.pair.length ? "starts later" : "choose a draw"; return; }
  paint(canvas, dream.picture);
  canvas.classList.toggle("over", dream.is_over);
  canvas.dataset.reward = dream.reward;
  words.textContent = dream.begin === play.view.step ? "starts here" : `reward ${short(dream.reward)}, sum ${short(dream.total)}`;
}

function drawTrace() {
  const {view} = play;
  if (!view || !about.has_draws) return;
  const line = (panel, colour) => panel && ({colour, points: panel.trace.map((reward, index) => [Math.max(view.trace_begin, panel.begin) + index, reward])});
  const [mean, a, b] = view.dreams;
  chart($("trace"), [line(view.game, COLOURS.game), line(mean, COLOURS.mean), line(a, COLOURS.a), line(b, COLOURS.b)].filter(Boolean));
}
