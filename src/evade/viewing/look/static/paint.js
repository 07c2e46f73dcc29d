// Pictures, heat maps and charts on canvases.

export const COLOURS = {game: "#eceef2", mean: "#ff6b5e", a: "#56b4e9", b: "#e69f00", draw: "#8f98aa", axis: "#566073", soft: "#a9b0bd"};

const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

export function floats({f32}) {
  return new Float32Array(bytesOf(f32).buffer);
}

// A picture at its own size; CSS enlarges it without smoothing.
export function paint(canvas, {w, h, rgb}) {
  const bytes = bytesOf(rgb), image = new ImageData(w, h);
  for (let cell = 0; cell < w * h; cell++) {
    image.data.set(bytes.subarray(3 * cell, 3 * cell + 3), 4 * cell);
    image.data[4 * cell + 3] = 255;
  }
  canvas.width = w;
  canvas.height = h;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// Blue below 0, orange above 0, dark at 0; NaN is empty.
export function paintHeat(canvas, values, w, h, most, signed = true) {
  const image = new ImageData(w, h);
  for (let cell = 0; cell < w * h; cell++) {
    const value = values[cell];
    if (Number.isNaN(value)) continue;
    const strength = most > 0 ? Math.min(1, Math.abs(value) / most) : 0;
    const [r, g, b] = signed && value < 0 ? [86, 180, 233] : [245, 170, 40];
    image.data.set([18 + (r - 18) * strength, 20 + (g - 20) * strength, 26 + (b - 26) * strength, 255], 4 * cell);
  }
  canvas.width = w;
  canvas.height = h;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// A canvas as many device pixels large as it is shown; returns a context in CSS pixels.
export function prepare(canvas) {
  const {width, height} = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, 'DejaVu Sans', sans-serif";
  return {context, width, height};
}

// A number for people; `small` also shows what would round to 0.
export function short(value, small = false) {
  const size = Math.abs(value);
  if (size === 0 || (size < 0.0005 && !small)) return "0";
  if (size < 0.0005) return value.toExponential(0).replaceAll("-", "−");
  return (size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : size >= 0.1 ? value.toFixed(2) : value.toFixed(3))
    .replace("-", "−");
}

// Round numbers between two ends, about `count` of them.
export function ticks(low, high, count = 4) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough * 0.999) ?? 10 * power;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step / 1e6 ? 0 : at);
  return found;
}

// Lines over a shared axis. `lines` are {points: [[x, y], ...], colour}.
export function chart(canvas, lines, {zero = true, unit = ""} = {}) {
  const {context, width, height} = prepare(canvas);
  const points = lines.flatMap(line => line.points);
  if (!points.length) return;
  const [left, right, top, bottom] = [46, 10, 8, 20];
  const xs = points.map(point => point[0]), ys = points.map(point => point[1]);
  let [low, high] = [Math.min(...ys), Math.max(...ys)];
  if (zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) high = low + 1;
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const x = value => left + (last === first ? 0.5 : (value - first) / (last - first)) * (width - left - right);
  const y = value => height - bottom - (value - low) / (high - low) * (height - top - bottom);
  context.fillStyle = COLOURS.soft;
  context.strokeStyle = "#2a2f3b";
  context.textAlign = "right";
  for (const tick of ticks(low, high, 3)) {
    context.beginPath(); context.moveTo(left, y(tick)); context.lineTo(width - right, y(tick)); context.stroke();
    context.fillText(short(tick, true), left - 6, y(tick) + 4);
  }
  context.textAlign = "center";
  const whole = value => value >= 10000 ? `${Math.round(value / 1000)}k` : `${value}`;
  for (const tick of new Set([first, last])) context.fillText(whole(tick), Math.min(width - 18, Math.max(left, x(tick))), height - 5);
  for (const {points: own, colour} of lines) {
    context.strokeStyle = context.fillStyle = colour;
    context.lineWidth = 2;
    context.beginPath();
    own.forEach(([at, value], index) => index ? context.lineTo(x(at), y(value)) : context.moveTo(x(at), y(value)));
    context.stroke();
    if (own.length < 40) for (const [at, value] of own) { context.beginPath(); context.arc(x(at), y(value), 2.5, 0, 7); context.fill(); }
  }
}

const tip = document.getElementById("tip");

// Shows `text(event)` beside the pointer; null hides it.
export function hover(element, text) {
  element.addEventListener("pointermove", event => {
    const words = text(event);
    tip.hidden = words === null;
    if (words === null) return;
    tip.textContent = words;
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${event.clientY + 16}px`;
  });
  element.addEventListener("pointerleave", () => { tip.hidden = true; });
}

// Row and column of the cell under the pointer.
export function cellAt(canvas, event, rows, columns) {
  const box = canvas.getBoundingClientRect(), edge = canvas.clientLeft;
  const column = Math.floor((event.clientX - box.left - edge) / canvas.clientWidth * columns);
  const row = Math.floor((event.clientY - box.top - edge) / canvas.clientHeight * rows);
  return row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null;
}
