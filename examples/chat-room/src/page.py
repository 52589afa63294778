PAGE = """<!doctype html>
<meta charset="utf-8">
<title>Chat</title>
<style>
  body { font: 16px system-ui; max-width: 40em; margin: 2em auto; padding: 0 1em }
  ol { list-style: none; padding: 0 }
  .note { color: gray }
</style>
<form id="enter">
  <input id="room" placeholder="Room" value="lobby" required>
  <input id="name" placeholder="Your name" required>
  <button>Enter</button>
</form>
<ol id="said"></ol>
<form id="say" hidden><input id="text" placeholder="Say something" autocomplete="off"> <button>Send</button></form>
<script>
  let socket, last = 0;
  const show = (text, note) => {
    const line = document.createElement("li");
    line.textContent = text;
    if (note) line.className = "note";
    said.append(line);
    line.scrollIntoView();
  };
  const message = ({id, name, text}) => { last = Math.max(last, id); show(`${name}: ${text}`); };
  const connect = () => {
    const where = `/room/${encodeURIComponent(room.value)}/socket`;
    const query = new URLSearchParams({name: name_(), after: last});
    socket = new WebSocket(`${location.origin.replace(/^http/, "ws")}${where}?${query}`);
    socket.onmessage = event => {
      if (event.data === "pong") return;
      const what = JSON.parse(event.data);
      if (what.type === "history") what.messages.forEach(message);
      else if (what.type === "message") message(what);
      else if (what.type === "problem") show(what.text, true);
      else show(`${what.name} ${what.type}. Here: ${what.members.join(", ")}`, true);
    };
    // What was said meanwhile comes with the next connection: it begins after the last message that was seen.
    socket.onclose = () => setTimeout(connect, 1000);
  };
  const name_ = () => document.getElementById("name").value;
  setInterval(() => socket?.readyState === 1 && socket.send("ping"), 20000);
  enter.onsubmit = event => { event.preventDefault(); enter.hidden = true; say.hidden = false; connect(); };
  say.onsubmit = event => { event.preventDefault(); if (text.value) socket.send(text.value); text.value = ""; };
</script>
"""
