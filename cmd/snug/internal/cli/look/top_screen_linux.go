// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/color"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/top"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// topScreen has the screen until the user quits. If the watched processes end before, their
// last figures stay on the screen until a key is pressed, because a user on call needs them
// more than a prompt. One line about it remains on the terminal.
func topScreen(u *ui.UI, o *topOptions) error {
	view := top.New(top.Options{ASCII: !ui.UTF8Locale(u.Getenv), Sort: o.sort, Interval: o.interval})
	err := topLoop(u, o, view)
	if said := view.Over(); said != "" && err == nil {
		u.Note("note: %s", said)
	}
	return err
}

func topLoop(u *ui.UI, o *topOptions, view *top.View) error {
	_ = os.WriteFile("/proc/self/comm", []byte("snug"), 0) // otherwise "exe", from /proc/self/exe
	ctx, stop := orphaned()
	defer stop()
	w, err := top.NewWatcher(o.words, o.attended)
	if err != nil {
		return err
	}
	tcell.SetEncodingFallback(tcell.EncodingFallbackASCII)
	// Do not query the terminal: a late answer over a slow line would end up as input to
	// the shell.
	var screen tcell.Screen
	tty, err := tcell.NewDevTty()
	if err == nil {
		screen, err = tcell.NewTerminfoScreenFromTty(&sane{Tty: tty}, tcell.OptNegotiation(false),
			tcell.OptKeyboardProtocol(tcell.LegacyKeyboard))
	}
	if err == nil {
		err = screen.Init()
	}
	if err != nil {
		return message.Failed("cannot use the terminal: "+err.Error(), "snug top --batch prints one look after the other")
	}
	defer screen.Fini() // after a panic too
	p := &painter{screen, view, stylesFor(screen.Colors() > 0 && u.Getenv("NO_COLOR") == "")}
	looks, retime, broken := make(chan *finding.Watch), make(chan time.Duration, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		broken <- w.Looks(ctx, o.interval, retime, looks)
		w.Close()
	}()
	defer func() { cancel(); <-gone }()
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, syscall.SIGTSTP)
	defer signal.Stop(stopped)
	for {
		p.paint()
		select {
		case <-ctx.Done():
			return nil
		case err := <-broken:
			if err != nil {
				return err
			}
		case d := <-looks:
			p.view.Update(d)
		case <-stopped:
			p.suspend(stopped)
		case event := <-screen.EventQ():
			switch event := event.(type) {
			case *tcell.EventError:
				return message.Failed("the terminal is gone: "+event.Error(), "snug top --batch needs none")
			case *tcell.EventResize:
				screen.Sync()
			case *tcell.EventKey:
				switch p.view.Key(keyOf(event)) {
				case top.Quit:
					return nil
				case top.Suspend:
					p.suspend(stopped)
				case top.Repaint:
					screen.Sync()
				case top.Retime:
					select {
					case <-retime: // an older interval
					default:
					}
					retime <- p.view.Interval()
				}
			case nil:
				return nil // the screen was closed
			}
		}
	}
}

// painter draws a view on a screen.
type painter struct {
	screen tcell.Screen
	view   *top.View
	styles map[top.Role]tcell.Style
}

func (p *painter) paint() {
	width, height := p.screen.Size()
	p.screen.Clear()
	for y, row := range p.view.Frame(width, height) {
		x := 0
		for _, span := range row {
			p.screen.PutStrStyled(x, y, span.Text, p.styles[span.Role])
			x += displaywidth.String(span.Text)
		}
	}
	p.screen.Show()
}

// suspend restores the terminal and stops the whole job, as Ctrl-Z does elsewhere. It
// returns when the job continues.
func (p *painter) suspend(stopped chan os.Signal) {
	if p.screen.Suspend() != nil {
		return
	}
	on := make(chan os.Signal, 1)
	signal.Notify(on, syscall.SIGCONT)
	defer signal.Stop(on)
	signal.Reset(syscall.SIGTSTP)
	if syscall.Kill(0, syscall.SIGTSTP) == nil {
		// The kernel may let this thread run on for a moment. It does not stop an orphaned
		// process group, which no shell could continue: then the timeout ends the wait.
		select {
		case <-on:
		case <-time.After(200 * time.Millisecond):
		}
	}
	signal.Notify(stopped, syscall.SIGTSTP)
	_ = p.screen.Resume()
	p.screen.Sync()
}

// stylesFor returns the style of each role. Without colour it uses bold, dim, underline and
// reverse.
func stylesFor(colour bool) map[top.Role]tcell.Style {
	s := tcell.StyleDefault
	styles := map[top.Role]tcell.Style{
		top.Plain: s, top.Title: s.Bold(true), top.Head: s.Reverse(true), top.Sorted: s.Reverse(true).Bold(true),
		top.Chosen: s.Reverse(true), top.Dim: s.Dim(true), top.Warn: s.Bold(true), top.Bad: s.Bold(true).Underline(true),
		top.Input: s.Underline(true), top.Label: s.Bold(true),
	}
	if colour {
		styles[top.Head] = s.Foreground(color.Black).Background(color.Green)
		styles[top.Sorted] = s.Foreground(color.Black).Background(color.Teal).Bold(true)
		styles[top.Chosen] = s.Foreground(color.Black).Background(color.Teal)
		styles[top.Warn] = s.Foreground(color.Olive).Bold(true)
		styles[top.Bad] = s.Foreground(color.Maroon).Bold(true)
		styles[top.Label] = s.Foreground(color.Teal).Bold(true)
	}
	return styles
}

// keys maps the keys that are not characters.
var keys = map[tcell.Key]top.Key{
	tcell.KeyUp: top.Up, tcell.KeyDown: top.Down, tcell.KeyLeft: top.Left, tcell.KeyRight: top.Right,
	tcell.KeyPgUp: top.PageUp, tcell.KeyPgDn: top.PageDown, tcell.KeyHome: top.Home, tcell.KeyEnd: top.End,
	tcell.KeyEnter: top.Enter, tcell.KeyCtrlJ: top.Enter, tcell.KeyEscape: top.Escape, tcell.KeyBackspace: top.Backspace,
	tcell.KeyCtrlC: top.CtrlC, tcell.KeyCtrlL: top.CtrlL, tcell.KeyCtrlU: top.CtrlU, tcell.KeyCtrlZ: top.CtrlZ,
	tcell.KeyCtrlF: top.PageDown, tcell.KeyCtrlB: top.PageUp, tcell.KeyCtrlN: top.Down, tcell.KeyCtrlP: top.Up,
	tcell.KeyF1: '?', tcell.KeyF10: 'q', tcell.KeyF4: '/',
}

// keyOf returns the view's key for an event, or 0 if the view has none.
func keyOf(event *tcell.EventKey) top.Key {
	if k, ok := keys[event.Key()]; ok {
		return k
	}
	if event.Key() == tcell.KeyRune && event.Modifiers()&^tcell.ModShift == 0 {
		if r, n := utf8.DecodeRuneInString(event.Str()); n > 0 && r != utf8.RuneError {
			return top.Key(r)
		}
	}
	return 0
}
