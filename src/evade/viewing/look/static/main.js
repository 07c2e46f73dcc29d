// Puts the page together.

import {ask, connect} from "./socket.js";
import * as draws from "./draws.js";
import * as film from "./film.js";
import * as layers from "./layers.js";
import * as play from "./play.js";
import * as run from "./run.js";

const notice = document.getElementById("notice");
let hiding;

function tell(words, isGood = false, stays = false) {
  notice.textContent = words;
  notice.classList.toggle("good", isGood);
  notice.hidden = false;
  clearTimeout(hiding);
  if (!stays) hiding = setTimeout(() => { notice.hidden = true; }, 6000);
}

const tellError = error => tell(error.message);

connect({
  async opened() {
    const about = await ask("hello");
    document.title = `${about.title} · evade look`;
    document.getElementById("title").textContent = about.title;
    document.getElementById("facts").textContent =
      `${about.variant}, preset ${about.preset}, seed ${about.seed} · ${about.folder}`;
    document.getElementById("report-command").textContent = `evade report ${about.folder} -o report`;
    draws.setUp(about, tellError);
    layers.setUp(about, tellError);
    film.setUp(about, tellError);
    play.setUp(about, tellError);
    run.setUp(about, tellError, tell);
    document.body.dataset.ready = "yes";
  },
  lost(reason) {
    play.pause();
    run.stop();
    document.body.dataset.ready = "lost";
    tell(reason, false, true);
  },
});
