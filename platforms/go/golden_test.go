package sotto

import (
	"context"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fields holds the lines of one case of the golden figures that every binding must reproduce.
type fields map[string][]string

func environment(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

var (
	modelPath  = environment("SOTTO_DEMO_MODEL", "../models/demo.sotto")
	goldenPath = environment("SOTTO_GOLDEN", "../../tests/golden/data/bindings.txt")
)

func golden(t *testing.T, name string) fields {
	t.Helper()
	data, err := os.ReadFile(goldenPath)
	if err != nil {
		t.Fatal(err)
	}
	unescape := strings.NewReplacer(`\n`, "\n", `\\`, `\`)
	found, inCase := fields{}, false
	for _, line := range strings.Split(string(data), "\n") {
		key, value, _ := strings.Cut(line, " ")
		if key == "case" {
			inCase = value == name
		} else if inCase && key != "" {
			found[key] = append(found[key], unescape.Replace(value))
		}
	}
	if len(found) == 0 {
		t.Fatalf("no case %s", name)
	}
	return found
}

func (f fields) text(key string) string { return f[key][0] }

func (f fields) number(key string) float64 {
	value, err := strconv.ParseFloat(f.text(key), 64)
	if err != nil {
		panic(err)
	}
	return value
}

func (f fields) sampler() *SamplerParams {
	params := DefaultSamplerParams()
	params.Temperature, params.TopK = float32(f.number("temperature")), uint32(f.number("top_k"))
	params.TopP, params.RepetitionPenalty = float32(f.number("top_p")), float32(f.number("repetition_penalty"))
	params.Seed = uint64(f.number("seed"))
	return params
}

func tokensIn(text string) []Token {
	var tokens []Token
	for _, field := range strings.Fields(text) {
		value, err := strconv.Atoi(field)
		if err != nil {
			panic(err)
		}
		tokens = append(tokens, Token(value))
	}
	return tokens
}

func openModel(t testing.TB) *Model {
	t.Helper()
	model, err := OpenModel(modelPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(model.Close)
	return model
}

func openSession(t testing.TB, model *Model, change func(*SessionParams)) *Session {
	t.Helper()
	params := DefaultSessionParams()
	params.ContextTokens = 256
	if change != nil {
		change(params)
	}
	session, err := model.NewSession(params)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func must[T any](t testing.TB) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func stopOf(t testing.TB, session *Session) Status {
	t.Helper()
	return must[SessionInfo](t)(session.Info()).Stop
}

func equalTokens(t testing.TB, got, want []Token) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func checkText(t *testing.T, name string, prepare func(*testing.T, *Session, fields)) {
	c, model := golden(t, name), openModel(t)
	session := openSession(t, model, nil)
	prompt := must[[]Token](t)(model.Tokenize(c.text("prompt")))
	equalTokens(t, prompt, tokensIn(c.text("prompt_tokens")))
	noError(t, session.SetSampler(c.sampler()))
	if prepare != nil {
		prepare(t, session, c)
	}
	var tokens []Token
	var text strings.Builder
	for piece, err := range session.Pieces(context.Background(), prompt, int(c.number("max_tokens"))) {
		noError(t, err)
		if piece.Token >= 0 {
			tokens = append(tokens, piece.Token)
		}
		text.WriteString(piece.Text)
	}
	equalTokens(t, tokens, tokensIn(c.text("tokens")))
	equal(t, text.String(), c.text("text"))
	equal(t, stopOf(t, session), Status(c.number("status")))

	text.Reset()
	noError(t, session.Reset())
	status, err := session.Generate(prompt, int(c.number("max_tokens")), func(piece Piece) bool {
		text.WriteString(piece.Text)
		return false
	})
	noError(t, err)
	equal(t, status, Status(c.number("status")))
	equal(t, text.String(), c.text("text"))
}

func TestBatch(t *testing.T) {
	model, cases := openModel(t), []fields{golden(t, "greedy"), golden(t, "sampled")}
	sessions := []*Session{openSession(t, model, nil), openSession(t, model, nil), openSession(t, model, nil)}
	for i, c := range cases {
		noError(t, sessions[i].SetSampler(c.sampler()))
		must[Status](t)(sessions[i].Prefill(tokensIn(c.text("prompt_tokens"))))
		noError(t, sessions[i].SetLimit(int(c.number("max_tokens"))))
	}
	texts := make([]string, len(cases))
	for goesOn := true; goesOn; {
		goesOn = false
		steps := must[[]Step](t)(NextOf(sessions))
		for i := range texts {
			noError(t, steps[i].Err)
			texts[i] += steps[i].Piece.Text
			goesOn = goesOn || steps[i].Stop == OK
		}
		equal(t, steps[2].Err.Error(), "sotto: the stream is empty: prefill a prompt first")
	}
	for i, c := range cases {
		equal(t, texts[i], c.text("text"))
		equal(t, stopOf(t, sessions[i]), Status(c.number("status")))
	}
	_, err := NextOf([]*Session{sessions[0], sessions[0]})
	equal(t, errors.Is(err, ErrBusy), true)
}

func TestGoldenTokens(t *testing.T) {
	c, model := golden(t, "tokenize"), openModel(t)
	tokens := must[[]Token](t)(model.Tokenize(c.text("text")))
	equalTokens(t, tokens, tokensIn(c.text("tokens")))
	equal(t, string(must[[]byte](t)(model.Detokenize(tokens))), c.text("text"))
}

func TestGoldenTexts(t *testing.T) {
	t.Run("greedy", func(t *testing.T) { checkText(t, "greedy", nil) })
	t.Run("sampled", func(t *testing.T) { checkText(t, "sampled", nil) })
	t.Run("stop", func(t *testing.T) {
		checkText(t, "stop", func(t *testing.T, session *Session, c fields) {
			stops := DefaultStopParams()
			stops.StopStrings = []string{c.text("stop_string")}
			noError(t, session.SetStops(stops))
		})
	})
	t.Run("grammar", func(t *testing.T) {
		checkText(t, "grammar", func(t *testing.T, session *Session, c fields) {
			params := DefaultGrammarParams()
			params.Language = GrammarLanguage(c.number("language"))
			params.JSONSpace = JSONSpace(c.number("json_space"))
			grammar := must[*Grammar](t)(CompileGrammar(c.text("source"), params))
			defer grammar.Close()
			noError(t, session.SetGrammar(grammar))
		})
	})
}

func TestGoldenSearch(t *testing.T) {
	c, model := golden(t, "search"), openModel(t)
	session := openSession(t, model, func(p *SessionParams) {
		p.SequenceCount, p.SequenceTokens = uint32(c.number("sequence_count")), 32
	})
	must[Status](t)(session.Prefill(must[[]Token](t)(model.Tokenize(c.text("prompt")))))
	params := DefaultSearchParams()
	params.MaxTokens = uint32(c.number("max_tokens"))
	found := must[[]Sequence](t)(session.Search(params))
	equal(t, len(found), len(c["sequence"]))
	for i, sequence := range found {
		equalTokens(t, sequence.Tokens, tokensIn(c["sequence"][i]))
	}
}

func TestGoldenEmbedding(t *testing.T) {
	c, model := golden(t, "embedding"), openModel(t)
	session := openSession(t, model, nil)
	prompt := must[[]Token](t)(model.Tokenize(c.text("prompt")))
	embedding := must[[]float32](t)(session.Embed(prompt, Pooling(c.number("pooling"))))
	equal(t, len(embedding), int(c.number("size")))
	for i, bits := range strings.Fields(c.text("first_bits")) {
		equal(t, strconv.FormatUint(uint64(math.Float32bits(embedding[i])), 16), bits)
	}
}

func checkFailure(t *testing.T, name string, call func(c fields) error) {
	t.Helper()
	c := golden(t, name)
	var failure *Error
	if err := call(c); !errors.As(err, &failure) {
		t.Fatalf("%s: %v", name, err)
	}
	offset := int64(-1)
	if c.text("offset") != "none" {
		offset = int64(c.number("offset"))
	}
	equal(t, failure.Offset, offset)
	equal(t, failure.Message, c.text("message"))
	if !errors.Is(failure, Status(c.number("status"))) {
		t.Errorf("%s: status %d", name, failure.Status)
	}
}

func TestGoldenFailures(t *testing.T) {
	model := openModel(t)
	session := openSession(t, model, nil)
	checkFailure(t, "bad_grammar", func(c fields) error {
		_, err := GBNFGrammar(c.text("source"))
		return err
	})
	checkFailure(t, "bad_text", func(c fields) error {
		data, err := hex.DecodeString(strings.ReplaceAll(c.text("bytes"), " ", ""))
		noError(t, err)
		_, err = model.Tokenize(string(data))
		return err
	})
	checkFailure(t, "bad_parameter", func(c fields) error {
		params := DefaultSamplerParams()
		params.Temperature = float32(c.number("temperature"))
		return session.SetSampler(params)
	})
	checkFailure(t, "bad_model", func(c fields) error {
		data, err := os.ReadFile(modelPath)
		noError(t, err)
		_, err = NewModel(data[:int(c.number("kept_bytes"))], nil)
		return err
	})
}

// execute makes one call of the case "calls" and returns the text that it generates.
func execute(session *Session, model *Model, name, argument string) (text string, err error) {
	count, _ := strconv.Atoi(argument)
	pieces := 0
	collect := func(piece Piece) bool {
		text += piece.Text
		pieces++
		return name == "callback" && pieces == count
	}
	tokens, err := model.Tokenize(argument)
	if err != nil {
		return "", err
	}
	switch name {
	case "prefill":
		_, err = session.Prefill(tokens)
	case "next":
		var piece Piece
		piece, _, err = session.Next()
		text = piece.Text
	case "generate":
		_, err = session.Generate(nil, count, collect)
	case "callback":
		_, err = session.Generate(nil, NoLimit, collect)
	case "limit":
		err = session.SetLimit(count)
	case "stops":
		stops := DefaultStopParams()
		stop, value, _ := strings.Cut(argument, " ")
		switch stop {
		case "stop_string":
			stops.StopStrings = []string{value}
		case "banned_string":
			stops.BannedStrings = []string{value}
		case "stop_token":
			stops.StopTokens = tokensIn(value)
		case "max_time_ns":
			stops.MaxTimeNS, err = strconv.ParseUint(value, 10, 64)
		case "repetition_limit":
			var limit float64
			limit, err = strconv.ParseFloat(value, 32)
			stops.RepetitionLimit = float32(limit)
		}
		if err == nil {
			err = session.SetStops(stops)
		}
	case "allow":
		params := DefaultSamplerParams()
		params.Temperature, params.AllowedTokens = 0, tokensIn(argument)
		err = session.SetSampler(params)
	case "grammar":
		var grammar *Grammar
		if argument != "" {
			if grammar, err = RegexGrammar(argument); err != nil {
				return "", err
			}
			defer grammar.Close()
		}
		err = session.SetGrammar(grammar)
	case "score":
		_, _, err = session.Score(tokens)
	case "embed":
		_, err = session.Embed(tokens, PoolMean)
	case "rewind":
		err = session.Rewind(uint64(count))
	case "restore":
		var state []byte
		if state, err = session.Save(); err == nil {
			err = session.Restore(state)
		}
	case "cancel":
		session.Cancel()
	case "reset":
		err = session.Reset()
	default:
		err = errors.New("unknown call: " + name)
	}
	return text, err
}

func TestCallsEndAndContinueTexts(t *testing.T) {
	model := openModel(t)
	session := openSession(t, model, nil)
	c := golden(t, "calls")
	for i, call := range c["call"] {
		name, argument, _ := strings.Cut(call, " ")
		text, err := execute(session, model, name, argument)
		result := strconv.Itoa(int(stopOf(t, session))) + " " + text
		if failure := (*Error)(nil); errors.As(err, &failure) {
			result = strconv.Itoa(int(failure.Status)) + " "
		} else {
			noError(t, err)
		}
		if result != c["result"][i] {
			t.Fatalf("call %d, %s: got %q, want %q", i, call, result, c["result"][i])
		}
	}
}
