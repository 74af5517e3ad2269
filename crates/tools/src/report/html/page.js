// The values of the moment that is pointed at; without it the page shows those of the whole run.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const plots = document.getElementById('plots');
  const moment = document.getElementById('moment');
  const outputs = data.lines.map((_, n) => plots.querySelector(`[data-line="${n}"]`));
  const whole = outputs.map((output) => output.textContent);
  const starts = data.starts_s;

  // As in report/units.rs: three digits that say something.
  const figure = (value) => {
    const size = Math.abs(value);
    if (size >= 99.95) return Math.round(value).toLocaleString('en-US');
    return value.toFixed(size >= 9.995 ? 1 : 2);
  };
  const scaled = (value, steps) => {
    const [top, divisor, unit] = steps.find(([limit]) => value < limit) ?? steps.at(-1);
    return `${figure(value / divisor)} ${unit}`;
  };
  const TIMES = [[999.5, 1, '\u00b5s'], [999500, 1e3, 'ms'], [Infinity, 1e6, 's']];
  const BYTES = [[999.5, 1, 'B'], [999.5e3, 1e3, 'KB'], [999.5e6, 1e6, 'MB'],
    [999.5e9, 1e9, 'GB'], [Infinity, 1e12, 'TB']];
  const UNITS = {
    per_second: (value) => `${figure(value)}/s`,
    time_us: (value) => scaled(value, TIMES),
    count: (value) => Math.round(value).toLocaleString('en-US'),
    percent: (value) => `${figure(value)} %`,
    bytes: (value) => scaled(value, BYTES),
    ms_per_s: (value) => `${figure(value)} ms/s`,
  };
  const two = (value) => String(value).padStart(2, '0');
  const clock = (at) => {
    const s = Math.round(at);
    if (!data.is_long || s < 0) return `${at.toFixed(data.to_s < 5 ? 2 : 1)} s`;
    const minutes = Math.floor(s / 60);
    if (minutes < 60) return `${minutes}:${two(s % 60)}`;
    return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}`;
  };

  const show = (share) => {
    const span = data.to_s - data.from_s;
    const pointed = data.from_s + share * span;
    const bin = Math.max(starts.findLastIndex((start) => start <= pointed), 0);
    const at = (starts[bin] + (starts[bin + 1] ?? data.to_s)) / 2;
    plots.style.setProperty('--at', `${(at - data.from_s) / span * 100}%`);
    plots.classList.add('pointed');
    moment.textContent = clock(at);
    data.lines.forEach((line, n) => {
      const value = line.values[bin];
      outputs[n].textContent = value === null ? '\u2013' : UNITS[line.unit](value);
    });
  };
  const leave = () => {
    plots.classList.remove('pointed');
    outputs.forEach((output, n) => { output.textContent = whole[n]; });
  };
  const point = (event) => {
    const field = plots.querySelector('.plot .field').getBoundingClientRect();
    const share = (event.clientX - field.left) / field.width;
    if (share < 0 || share > 1) leave(); else show(share);
  };
  plots.addEventListener('pointermove', point);
  plots.addEventListener('pointerdown', point);
  plots.addEventListener('pointerleave', leave);
})();
