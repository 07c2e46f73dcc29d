// The game beside the dream: keys, clock, history.

import {ask, latest} from "./socket.js";
import {paint, short} from "./paint.js";
import {Keys} from "./keys.js";

const $ = id => document.getElementById(id);
const chosen = name => document.querySelector(`input[name=${name}]:checked`).value;

export const play = {view: null, listeners: [], isStepping: () => numWaiting > 0};
let about, keys, isPlaying = false, timer, report;

export function setUp(hello, tellError) {
  about = hello;
  report = tellError;
  keys = new Keys(about.actions);
  const box = $("actions");
  box.replaceChildren(...about.actions.map((name, index) => {
    const button = document.createElement("button");
    button.innerHTML = "<i></i><span></span><span><kbd></kbd></span><span></span>";
    const [bar, words, key, share] = button.children;
    words.textContent = name;
    key.firstChild.textContent = keys.label(index);
    key.hidden = !keys.label(index);
    button.onclick = event => { blurAfterPointer(event); act(index, event.timeStamp); };
    button.show = (probability, isTaken) => {
      bar.style.width = `${100 * probability}%`;
      share.textContent = `${Math.round(100 * probability)} %`;
      button.classList.toggle("taken", isTaken);
    };
    return button;
  }));
  $("key").replaceChildren(...about.channels.map(({name, colour}) => {
    const item = document.createElement("li"), square = document.createElement("i");
    square.style.background = `rgb(${colour})`;
    item.append(square, name);
    return item;
  }));
  document.querySelector("input[value=recorded]").disabled = !about.chunks.length;
  $("toggle").onclick = event => { blurAfterPointer(event); toggle(); };
  $("back").onclick = event => { blurAfterPointer(event); seek(play.view.step - 1); };
  $("forward").onclick = event => { blurAfterPointer(event); forward(event.timeStamp); };
  $("restart").onclick = event => { blurAfterPointer(event); restart(); };
  $("time").oninput = () => seek(+$("time").value);
  document.querySelectorAll("input[name=driver]").forEach(radio => radio.onchange = () => { changeDriver(radio.value); });
  document.querySelectorAll("input[name=speed]").forEach(radio => radio.onclick = blurAfterPointer);
  document.addEventListener("keydown", pressed);
  document.addEventListener("keyup", event => keys.held.delete(event.key));
  window.addEventListener("blur", () => keys.held.clear());
  show(about.view);
}

// A key meant for the game must not press the button that the mouse clicked last.
export function blurAfterPointer(event) {
  if (event.detail > 0) event.currentTarget.blur();
}

const isTyping = target => target.matches("input:not([type=radio]), select, textarea, #grid") ||
  (target.matches("button, summary, a, input[type=radio]"));

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const moves = key === " " || key.startsWith("Arrow") || key === "Enter";
  if (target.matches("input.number, select, #grid, input[type=range]") || (moves && isTyping(target))) return;
  const commands = {p: toggle, ",": () => seek(play.view.step - 1), ".": () => forward(event.timeStamp), r: restart, d: () => $("new-a").click()};
  if (commands[key]) { commands[key](); event.preventDefault(); return; }
  if (keys.actions.has(key)) {
    event.preventDefault();
    keys.held.add(key);
    if (!isPlaying || keys.idle < 0) act(keys.action(key), event.timeStamp, event.repeat);
  }
}

const MAX_WAITING = 4;
let stepping = Promise.resolve(), numWaiting = 0;

// Every press is one step, in order; of a key held down, and beyond a few, those are dropped that would have to wait.
function step(action, since, isRepeated = false) {
  if (numWaiting >= (isRepeated ? 1 : MAX_WAITING)) return stepping;
  numWaiting++;
  stepping = stepping.then(() => makeStep(action, since)).finally(() => { numWaiting--; });
  return stepping;
}

async function makeStep(action, since) {
  try {
    show(await ask("step", {action}));
    if (since) requestAnimationFrame(() => setTimeout(() => {
      const took = performance.now() - since;
      document.body.dataset.latency = took.toFixed(1);
      $("latency").textContent = `${took.toFixed(0)} ms from key to picture`;
    }));
  } catch (error) { pause(); report(error); }
}

// A person's action: whoever drove before, now the keyboard does.
function act(action, since, isRepeated = false) {
  if (action < 0) return;
  if (chosen("driver") !== "keys") { document.querySelector("input[value=keys]").checked = true; pause(); }
  return step(action, since, isRepeated);
}

function forward(since) {
  const {step: at, last} = play.view;
  if (at < last) return seek(at + 1);
  return step(automatic(), since);
}

// What the chosen driver plays without a key.
function automatic() {
  const driver = chosen("driver");
  return driver === "keys" ? Math.max(keys.action(), 0) : driver;
}

export const seek = latest(async at => {
  pause();
  try { show(await ask("seek", {step: Math.max(0, Math.min(at, play.view.last))})); } catch (error) { report(error); }
});

export async function restart() {
  pause();
  try { show(await ask("begin", {seed: Math.floor(Math.random() * 100000)})); } catch (error) { report(error); }
}

export async function startAt(chunk, frame) {
  pause();
  try { show(await ask("start", {chunk, frame})); } catch (error) { report(error); }
}

async function changeDriver(driver) {
  if (driver === "recorded" && play.view.num_recorded === 0) {
    $("film-box").open = true;
    await startAt(about.chunks.length - 1, 0);
  }
}

function toggle() {
  if (isPlaying) return pause();
  isPlaying = true;
  $("toggle").textContent = "Pause";
  tick();
}

export function pause() {
  isPlaying = false;
  clearTimeout(timer);
  $("toggle").textContent = "Play";
}

async function tick() {
  const began = performance.now(), pace = 1000 / ((about.is_grid ? 6 : 15) * +chosen("speed"));
  const isKeys = chosen("driver") === "keys";
  const action = isKeys ? (keys.action() >= 0 ? keys.action() : keys.idle) : automatic();
  if (action !== -1) await step(action, isKeys ? began : undefined);
  const {game, num_recorded} = play.view;
  if (game.is_over || (chosen("driver") === "recorded" && num_recorded === 0)) return pause();
  if (isPlaying) timer = setTimeout(tick, Math.max(0, pace - (performance.now() - began)));
}

function rewardText(panel) {
  return panel.begin === play.view.step ? "starts here" : `reward ${short(panel.reward)}, sum ${short(panel.total)}`;
}

export function show(view) {
  play.view = view;
  const {game, dreams: [dream], step: at} = view;
  paint($("game"), game.picture);
  paint($("dream"), dream.picture);
  paint($("difference"), view.difference);
  for (const id of ["game", "dream"]) $(id).dataset.step = at;
  $("dream").classList.toggle("dreaming", at > 0);
  $("game").classList.toggle("over", game.is_over);
  $("dream").classList.toggle("over", dream.is_over);
  $("game-note").textContent = game.is_over ? "over" : view.is_live ? "" : "recording only";
  $("dream-note").textContent = dream.is_over ? "over" : at ? "on its own" : "shown the game";
  $("game-reward").textContent = rewardText(game);
  $("dream-reward").textContent = rewardText(dream);
  $("parted").textContent = view.parted === null ? (at ? "the same so far" : "") : `parted at step ${view.parted}`;
  $("parted").className = view.parted === null ? "good" : "warn";
  $("value").textContent = short(view.value);
  $("score").textContent = short(view.score);
  $("last-action").textContent = view.action === null ? "none" : about.actions[view.action];
  $("time").max = view.last;
  $("time").value = at;
  $("step").textContent = `step ${at} of ${view.last}`;
  [...$("actions").children].forEach((button, index) => button.show(view.probabilities[index], index === view.action));
  $("back").disabled = at === 0;
  for (const listener of play.listeners) listener(view);
}
