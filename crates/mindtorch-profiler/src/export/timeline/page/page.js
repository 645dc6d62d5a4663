function showFacts({ device, start_epoch_ns: epoch, duration_ns: duration, peak }) {
  const facts = [["Device", device]];
  const began = new Date(Number(BigInt(epoch) / 1000000n));
  if (began > 0) {
    const text = began.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
    facts.push(["Recorded", make("time", { datetime: began.toISOString() }, text)]);
  }
  facts.push(["Duration", timeText(duration)]);
  if (peak?.bytes) facts.push(["Peak", `${bytesText(peak.bytes)} at ${timeText(peak.at_ns)}`]);
  for (const [name, value] of facts) byId("facts").append(make("div", {}, make("dt", {}, name), make("dd", {}, value)));
}

function notice(text) {
  byId("notice").textContent = text;
  byId("notice").hidden = false;
}

function start() {
  let data;
  try {
    data = JSON.parse(byId("data").textContent);
  } catch (error) {
    notice(`The data of this page cannot be read: ${error.message}`);
    return;
  }
  byId("title").textContent = document.title = data.title;
  showFacts(data);
  if (data.times_ns.length === 0 || !data.peak?.bytes) {
    notice("No memory was recorded on this device.");
    return;
  }
  byId("timeline").hidden = byId("blocks").hidden = false;
  new Blocks(data);
  const chart = new Chart(data);
  // For tests, which cannot read a picture.
  window.memoryTimeline = Object.freeze({
    get range() { return [chart.view.start, chart.view.end]; },
    get hovered() { return chart.hovered()?.index ?? null; },
    get plot() { return chart.drawing.plot; },
    get peak() { return { index: chart.series.peakIndex, x: chart.drawing.x(data.peak.at_ns) }; },
    draw: () => chart.draw(),
  });
}

start();
