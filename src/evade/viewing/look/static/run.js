// How the run went; a run still training is read again and again.

import {ask} from "./socket.js";
import {COLOURS, chart} from "./paint.js";
import * as film from "./film.js";

const $ = id => document.getElementById(id);
const SECONDS = {running: 3, other: 15};
let about, report, tell, timer, seen = "", loaded = "";

const CHARTS = [
  {title: "Score", note: "by real steps", lines: [["score", COLOURS.game]]},
  {title: "Dreams beside the game", note: "return from the same starts: game white, dream red", lines: [["faithfulness/game_return", COLOURS.game], ["faithfulness/dream_return", COLOURS.mean]]},
  {title: "Divergence step", note: "steps until dream and game part", lines: [["faithfulness/divergence_step", COLOURS.mean]]},
  {title: "Disagreement of draws", note: "points: beyond a common scale orange, spread blue", lines: [["posterior/disagreement", COLOURS.b], ["posterior/spread", COLOURS.a]]},
  {title: "σ, mean over all layers", note: "by iteration", lines: [["posterior/sigma", COLOURS.a]]},
  {title: "Return while collecting", note: "by iteration", lines: [["collect/return", COLOURS.game]]},
];

export function setUp(hello, tellError, tellWords) {
  [about, report, tell] = [hello, tellError, tellWords];
  $("charts").replaceChildren(...CHARTS.map(({title, note}) => {
    const card = document.createElement("div");
    card.className = "card";
    card.append(Object.assign(document.createElement("h3"), {textContent: title}), Object.assign(document.createElement("canvas"), {role: "img", ariaLabel: title}),
      Object.assign(document.createElement("p"), {className: "hint", textContent: note}));
    return card;
  }));
  refresh();
}

const numberOf = name => name.replace(/\b0+(?=\d)/, "");

export const stop = () => clearTimeout(timer);

async function refresh() {
  let status = "other";
  try {
    const run = await ask("run");
    status = run.status;
    showRun(run);
    if (loaded && run.checkpoint !== loaded) { document.dispatchEvent(new Event("look:loaded")); tell(`Loaded checkpoint ${numberOf(run.checkpoint)} of the run.`, true); }
    loaded = run.checkpoint;
    seen = "";
  } catch (error) {
    if (error.message !== seen) report(error); // said once
    seen = error.message;
    $("run-status").textContent = error.message;
  }
  timer = setTimeout(refresh, 1000 * (SECONDS[status] ?? SECONDS.other));
}

function showRun(run) {
  const series = Object.fromEntries([run.scores, ...run.series].map(each => [each.name, each.points]));
  const words = {running: "still training; this page follows it", finished: "finished", stopped: "stopped, can be resumed", failed: "failed", new: "has just begun"};
  $("run-status").textContent = `${words[run.status] ?? run.status} · checkpoint ${numberOf(run.checkpoint)}`;
  CHARTS.forEach(({lines}, index) => {
    const card = $("charts").children[index], canvas = card.querySelector("canvas");
    const drawn = lines.map(([name, colour]) => ({colour, points: series[name] ?? []}));
    card.hidden = drawn.every(line => line.points.length === 0);
    if (!card.hidden) chart(canvas, drawn);
    canvas.dataset.points = drawn.map(line => line.points.length).join();
  });
  film.fill(run.chunks);
}
