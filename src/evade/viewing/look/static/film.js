// The filmstrip: recorded frames to start from.

import {ask} from "./socket.js";
import {paint, short} from "./paint.js";
import {blurAfterPointer, startAt} from "./play.js";

const $ = id => document.getElementById(id);
const AT_ONCE = 40;
let report, shown = {chunk: 0, end: 0, next: 0};

export function setUp(about, tellError) {
  report = tellError;
  fill(about.chunks);
  $("chunk").onchange = loadChunk;
  $("episode").onchange = loadEpisode;
  $("film").onscroll = () => { if ($("film").scrollLeft + $("film").clientWidth > $("film").scrollWidth - 200) more(); };
  $("film-box").ontoggle = () => { if ($("film-box").open && !$("episode").options.length) loadChunk(); };
  $("film-box").hidden = !about.chunks.length;
}

export function fill(chunks) {
  const box = $("chunk");
  if (box.options.length === chunks.length) return;
  const kept = box.options.length ? box.value : chunks.length - 1;
  box.replaceChildren(...chunks.map((iteration, index) => new Option(iteration, index)));
  box.value = kept;
}

async function loadChunk() {
  try {
    const {episodes} = await ask("episodes", {chunk: +$("chunk").value});
    $("episode").replaceChildren(...episodes.map(([begin, count, score], index) =>
      new Option(`${index + 1}: ${count - 1} steps, score ${short(score)}`, `${begin},${count}`)));
    // The longest episode of the first hundred shows most.
    const sizes = episodes.slice(0, 100).map(episode => episode[1]);
    $("episode").selectedIndex = sizes.indexOf(Math.max(...sizes));
    await loadEpisode();
  } catch (error) { report(error); }
}

async function loadEpisode() {
  const [begin, count] = $("episode").value.split(",").map(Number);
  shown = {chunk: +$("chunk").value, next: begin, end: begin + count};
  $("film").replaceChildren();
  await more();
}

let isLoading = false;

async function more() {
  if (isLoading || shown.next >= shown.end) return;
  isLoading = true;
  try {
    const {chunk, next: begin} = shown;
    const film = await ask("film", {chunk, begin, count: Math.min(AT_ONCE, shown.end - begin)});
    shown.next = begin + film.pictures.length;
    $("film").append(...film.pictures.map((picture, index) => {
      const button = document.createElement("button"), canvas = document.createElement("canvas");
      const words = document.createElement("small"), reward = film.rewards[index];
      paint(canvas, picture);
      words.textContent = `${film.positions[index]}${reward ? ` ${reward > 0 ? "+" : ""}${short(reward)}` : ""}${film.ends[index] ? " end" : ""}`;
      button.classList.toggle("paid", reward !== 0);
      button.title = `start at step ${film.positions[index]} of this episode`;
      button.append(canvas, words);
      button.onclick = event => { blurAfterPointer(event); startAt(chunk, begin + index); };
      return button;
    }));
  } catch (error) { report(error); }
  isLoading = false;
}
