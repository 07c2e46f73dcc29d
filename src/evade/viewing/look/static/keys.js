// Which key plays which action.

const NATURAL = {
  left: "ArrowLeft", right: "ArrowRight", up: "ArrowUp", down: "ArrowDown", forward: "ArrowUp", fire: " ", toggle: " ",
  "no-op": "n", noop: "n", pickup: "g", drop: "b", done: "e", "left or right": "ArrowLeft", "the other way": "ArrowRight",
};
const LABELS = {ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space"};
const isIdle = name => name === "no-op" || name === "noop";

export class Keys {
  constructor(names) {
    this.names = names;
    this.idle = names.findIndex(isIdle);
    this.actions = new Map();
    const hasSpace = names.some(name => NATURAL[name] === " ");
    names.forEach((name, index) => {
      if (index < 9) this.actions.set(`${index + 1}`, index);
      if (NATURAL[name]) this.actions.set(NATURAL[name], index);
      if (isIdle(name) && !hasSpace) this.actions.set(" ", index);
    });
    this.held = new Set();
  }

  label(index) {
    const own = [...this.actions].filter(([, action]) => action === index).map(([key]) => key);
    const best = own.find(key => LABELS[key]) ?? own.find(key => /[a-z]/.test(key)) ?? own[0] ?? this.combination(index);
    return LABELS[best] ?? best?.toUpperCase() ?? "";
  }

  combination(index) {
    const parts = this.names[index].match(/up|down|left|right|fire/g) ?? [];
    return parts.map(part => LABELS[NATURAL[part]]).join("");
  }

  // The action of all keys held, as Atari names combinations, else of the key pressed last; -1 for none.
  action(pressed) {
    const down = key => this.held.has(key);
    const vertical = down("ArrowUp") ? "up" : down("ArrowDown") ? "down" : "";
    const level = down("ArrowRight") ? "right" : down("ArrowLeft") ? "left" : "";
    const together = this.names.indexOf(vertical + level + (down(" ") ? "fire" : ""));
    if (together >= 0) return together;
    return this.actions.get(pressed ?? [...this.held].at(-1)) ?? -1;
  }
}
