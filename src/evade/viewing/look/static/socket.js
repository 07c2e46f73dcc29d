// One WebSocket to the session: ask(request) resolves with the answer, or rejects with an Error.

const waiting = new Map();
let socket, number = 0;

export function connect({opened, lost}) {
  const url = new URL("socket", location.href);
  url.protocol = "ws:";
  socket = new WebSocket(url);
  socket.onopen = opened;
  socket.onmessage = event => {
    const answer = JSON.parse(event.data);
    const [resolve, reject] = waiting.get(answer.id) ?? [];
    waiting.delete(answer.id);
    if (answer.error !== undefined) reject?.(new Error(answer.error));
    else resolve?.(answer.done);
  };
  socket.onclose = event => {
    const reason = event.reason || "The server has ended: start `evade look` again and open its new address.";
    for (const [, reject] of waiting.values()) reject(new Error(reason));
    waiting.clear();
    lost(reason);
  };
}

export function ask(request, more = {}) {
  if (socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error("There is no connection any more."));
  return new Promise((resolve, reject) => {
    waiting.set(++number, [resolve, reject]);
    socket.send(JSON.stringify({id: number, do: request, ...more}));
  });
}

// Runs a task again if it was asked for while it ran, and never twice at once: a slow answer cannot pile up others.
export function latest(task) {
  let running = false, again = null;
  return async function run(...args) {
    if (running) { again = args; return; }
    running = true;
    try { await task(...args); }
    finally {
      running = false;
      if (again) { const next = again; again = null; run(...next); }
    }
  };
}
