// Put into every page before its own scripts run: one clock, so that pages that show the date look the same on every day.
(() => {
  const start = Date.UTC(2026, 0, 15, 12, 0, 0);
  const Real = Date;
  const now = () => start + Math.floor(performance.now());
  class Fixed extends Real {
    constructor(...args) {
      if (args.length) super(...args); else super(now());
    }
    static now() { return now(); }
  }
  window.Date = Fixed;
  const bare = () => {
    const style = document.createElement('style');
    // the reward and its timer are not the agent's to see, and beside the page they would make it scroll; a caret that blinks makes no two pictures alike
    style.textContent = '#reward-display, #click-canvas { display: none !important } * { caret-animation: manual }';
    document.documentElement.appendChild(style);
  };
  if (document.documentElement) bare(); else document.addEventListener('DOMContentLoaded', bare);
})();
