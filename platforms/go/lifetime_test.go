package sotto

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

func collect(t testing.TB, session *Session, prompt string, maxTokens int) string {
	t.Helper()
	var text strings.Builder
	for part, err := range session.Stream(context.Background(), prompt, maxTokens) {
		noError(t, err)
		text.WriteString(part)
	}
	return text.String()
}

// openEndless opens a session whose text never reaches the end of text.
func openEndless(t testing.TB, model *Model) *Session {
	t.Helper()
	session := openSession(t, model, func(p *SessionParams) { p.Overflow = OverflowRing })
	params := DefaultSamplerParams()
	params.IgnoreEnd = true
	noError(t, session.SetSampler(params))
	return session
}

func isError(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestClosedObjectsRefuseCalls(t *testing.T) {
	model := must[*Model](t)(OpenModel(modelPath, nil))
	session := openSession(t, model, nil)
	grammar := must[*Grammar](t)(RegexGrammar("[a-z]+"))
	vocabulary := must[*Vocabulary](t)(NewTokenVocabulary([][]byte{{'a'}, {'b'}}, nil, nil))
	matcher := must[*Matcher](t)(NewMatcher(grammar, vocabulary, nil))
	sampler := must[*Sampler](t)(NewSampler(2, nil, nil))
	for range 2 {
		session.Close()
		model.Close()
		matcher.Close()
		vocabulary.Close()
		grammar.Close()
		sampler.Close()
	}
	session.Cancel()
	one := []Token{1}
	calls := map[string]func() error{
		"prefill":     func() error { _, err := session.Prefill(one); return err },
		"next":        func() error { _, _, err := session.Next(); return err },
		"generate":    func() error { _, err := session.Generate(one, 1, nil); return err },
		"heal":        session.Heal,
		"rewind":      func() error { return session.Rewind(0) },
		"reset":       session.Reset,
		"logits":      func() error { _, err := session.Logits(); return err },
		"hidden":      func() error { _, err := session.Hidden(); return err },
		"score":       func() error { _, _, err := session.Score(one); return err },
		"embed":       func() error { _, err := session.Embed(one, PoolMean); return err },
		"search":      func() error { _, err := session.Search(nil); return err },
		"save":        func() error { _, err := session.Save(); return err },
		"restore":     func() error { return session.Restore(nil) },
		"sampler":     func() error { return session.SetSampler(nil) },
		"stops":       func() error { return session.SetStops(nil) },
		"guide":       func() error { return session.SetGuide(nil, nil) },
		"speculation": func() error { return session.SetSpeculation(nil) },
		"matcher":     func() error { return session.SetMatcher(nil) },
		"grammar":     func() error { return session.SetGrammar(grammar) },
		"info":        func() error { _, err := session.Info(); return err },
		"timings":     func() error { _, err := session.Timings(); return err },
		"guesses":     func() error { _, err := session.SpeculationInfo(); return err },
		"times":       session.ResetTimings,
		"tokenize":    func() error { _, err := model.Tokenize("a"); return err },
		"session":     func() error { _, err := model.NewSession(nil); return err },
		"words":       func() error { _, err := NewVocabulary(model); return err },
		"image":       func() error { _, err := grammar.Save(); return err },
		"match":       func() error { _, err := NewMatcher(grammar, nil, nil); return err },
		"mask":        func() error { _, err := matcher.Mask(0); return err },
		"sample":      func() error { _, err := sampler.Sample(SamplerInput{Logits: make([]float32, 2)}); return err },
		"stream": func() error {
			for _, err := range session.Stream(context.Background(), "a", 1) {
				return err
			}
			return nil
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSessionsKeepWhatTheyNeed(t *testing.T) {
	model := must[*Model](t)(OpenModel(modelPath, nil))
	session := openSession(t, model, func(p *SessionParams) { p.DraftTokens, p.Features = 4, FeatureGuide })
	guide, draft := openSession(t, model, nil), openSession(t, model, nil)
	must[Status](t)(guide.Prefill(must[[]Token](t)(model.Tokenize("It was"))))
	grammar := must[*Grammar](t)(RegexGrammar("[a-z ]*"))
	guesses := DefaultSpeculationParams()
	guesses.Sources, guesses.DraftSession = DraftSession, draft
	noError(t, session.SetGrammar(grammar))
	noError(t, session.SetGuide(guide, nil))
	noError(t, session.SetGuide(guide, nil))
	noError(t, session.SetSpeculation(guesses))
	_, _, err := guide.Next()
	isError(t, err, ErrBusy)
	isError(t, draft.Reset(), ErrBusy)
	isError(t, session.SetGuide(draft, nil), ErrBusy)
	model.Close()
	grammar.Close()
	guide.Close()
	draft.Close()
	runtime.GC()
	if collect(t, session, "It was", 10) == "" {
		t.Error("no text")
	}
	noError(t, session.SetGrammar(nil))
	noError(t, session.SetGuide(nil, nil))
	noError(t, session.SetSpeculation(nil))
	if collect(t, session, "It was", 10) == "" {
		t.Error("no text")
	}
}

func TestContextsCancel(t *testing.T) {
	session := openEndless(t, openModel(t))
	for range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		count, last := 0, error(nil)
		for _, err := range session.Stream(ctx, "It was", NoLimit) {
			if count++; count == 3 {
				go cancel()
			}
			last = err
		}
		isError(t, last, context.Canceled)
		equal(t, stopOf(t, session), StopCancelled)
		if text := collect(t, session, "It was", 3); text == "" { // nothing of it is left
			t.Error("no text")
		}
		cancel()
		for _, err := range session.Stream(ctx, "It was", 3) {
			isError(t, err, context.Canceled)
		}
		ctx, cancelToo := context.WithCancel(context.Background())
		defer cancelToo()
		for range session.Stream(ctx, "It was", 5) {
			cancelToo()
			break
		}
		if text := collect(t, session, "It was", 3); text == "" {
			t.Error("no text")
		}
	}
}

func TestCallbacksCannotBreakASession(t *testing.T) {
	model := openModel(t)
	session := openSession(t, model, nil)
	prompt := must[[]Token](t)(model.Tokenize("It was"))
	status, err := session.Generate(prompt, 5, func(Piece) bool {
		_, _, err := session.Next()
		isError(t, err, ErrBusy)
		return true
	})
	noError(t, err)
	equal(t, status, StopCallback)
	params := DefaultSamplerParams()
	params.LogitsCallback = func([]float32) { panic("mine") }
	noError(t, session.SetSampler(params))
	func() {
		defer func() { equal(t, recover(), any("mine")) }()
		collect(t, session, "It was", 3)
	}()
	noError(t, session.SetSampler(nil))
	func() {
		defer func() { equal(t, recover(), any("too")) }()
		_, _ = session.Generate(prompt, 5, func(Piece) bool { panic("too") })
	}()
	status, err = session.Generate(prompt, NoLimit, func(Piece) bool { session.Close(); return false })
	noError(t, err)
	equal(t, status, StopCancelled)
	_, _, err = session.Next()
	isError(t, err, ErrClosed)
}

func TestCloseFromAnotherGoroutine(t *testing.T) {
	session := openEndless(t, openModel(t))
	count := 0
	status, err := session.Generate([]Token{1}, NoLimit, func(Piece) bool {
		if count++; count == 2 {
			go session.Close()
		}
		return false
	})
	noError(t, err)
	equal(t, status, StopCancelled)
}

func TestSessionsRunSideBySide(t *testing.T) {
	model := openModel(t)
	texts := make(chan string)
	for range 4 {
		session := openSession(t, model, nil)
		go func() { texts <- collect(t, session, "It was", 20) }()
	}
	first := <-texts
	for range 3 {
		equal(t, <-texts, first)
	}
}

// use creates one object of each kind and leaves them open if the garbage collector is to find them.
func use(t *testing.T, isClosed bool) {
	model := must[*Model](t)(OpenModel(modelPath, nil))
	params := DefaultSessionParams()
	params.ContextTokens, params.SequenceCount = 64, 2
	session := must[*Session](t)(model.NewSession(params))
	sampler := DefaultSamplerParams()
	sampler.LogitsCallback = func([]float32) {}
	noError(t, session.SetSampler(sampler))
	grammar := must[*Grammar](t)(RegexGrammar("[a-z ]*"))
	noError(t, session.SetGrammar(grammar))
	collect(t, session, "It was", 3)
	search := DefaultSearchParams()
	search.MaxTokens = 3
	must[[]Sequence](t)(session.Search(search))
	if _, err := GBNFGrammar("root ::= ("); err == nil {
		t.Error("a grammar that is none")
	}
	if isClosed {
		grammar.Close()
		model.Close()
		session.Close()
	}
}

func TestNothingLeaks(t *testing.T) {
	collectGarbage := func() { // finalizers run in their own time, and chains of them one after the other
		runtime.GC()
		time.Sleep(2 * time.Millisecond)
	}
	for range 50 { // frees the objects of other tests
		collectGarbage()
	}
	before := liveBlocks()
	for _, isClosed := range []bool{true, false} {
		for range 5 {
			use(t, isClosed)
		}
	}
	deadline := time.Now().Add(30 * time.Second)
	for liveBlocks() > before {
		if time.Now().After(deadline) {
			t.Fatal(liveBlocks()-before, "blocks are left")
		}
		collectGarbage()
	}
}
