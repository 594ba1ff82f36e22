package sotto

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestModels(t *testing.T) {
	data := must[[]byte](t)(os.ReadFile(modelPath))
	params := DefaultModelParams()
	params.ISA, params.VerifyChecksums, params.CopyWeights = ISAReference, false, true
	params.Log = func(LogLevel, string) {}
	model := must[*Model](t)(NewModel(data, params))
	defer model.Close()
	equal(t, model.Info().ISA, ISAReference)
	equal(t, model.Info().ISA.String(), "reference")
	equal(t, must[uint64](t)(ModelMemorySize(data, params)), model.MemoryBytes())
	session := openSession(t, model, nil)
	equal(t, collect(t, session, "It was", 5), collect(t, openSession(t, openModel(t), nil), "It was", 5))
	shape := DefaultSessionParams()
	shape.ContextTokens = 256
	equal(t, must[SessionInfo](t)(session.Info()).MemoryBytes, must[uint64](t)(model.SessionMemorySize(shape)))
	major, _, _ := Version()
	equal(t, major, 1)
	time := must[[]Token](t)(model.Tokenize(" time"))
	equal(t, string(must[[]byte](t)(model.TokenBytes(time[0]))), " time")
	equalTokens(t, must[[]Token](t)(model.TokenizeSpecial("<|endoftext|>")), []Token{Token(model.Info().EndOfTextToken)})
	flags := must[TokenFlag](t)(model.TokenFlags(Token(model.Info().EndOfTextToken)))
	equal(t, flags, TokenSpecial|TokenEndOfText)
	equal(t, must[string](t)(model.Text(ModelTextChatTemplate)), "")
	equal(t, must[string](t)(model.Text(ModelTextName)) != "", true)
	equal(t, len(must[[]byte](t)(model.Detokenize(nil))), 0)
	_, err := model.Detokenize([]Token{-1})
	isError(t, err, InvalidArgument)
	_, err = model.Tokenize("\xff")
	equal(t, err.Error(), "sotto: the text is not UTF-8")
}

func TestErrorsOfFilesNameTheFile(t *testing.T) {
	directory := t.TempDir()
	damaged := filepath.Join(directory, "damaged.sotto")
	noError(t, os.WriteFile(damaged, []byte("no model"), 0o600))
	for path, want := range map[string]error{
		directory + "/missing.sotto": os.ErrNotExist, directory: syscall.EISDIR, damaged: ModelCorrupt,
	} {
		_, err := OpenModel(path, nil)
		isError(t, err, want)
		if !strings.Contains(err.Error(), path+": ") {
			t.Errorf("%q does not name %s", err, path)
		}
	}
}

func TestLimitsOfTokens(t *testing.T) {
	session := openSession(t, openModel(t), nil)
	equal(t, collect(t, session, "It was", 0), "")
	equal(t, stopOf(t, session), StopMaxTokens)
	equal(t, must[Status](t)(session.Generate(nil, 0, nil)), StopMaxTokens)
	for _, err := range session.Stream(context.Background(), "", -1) {
		isError(t, err, InvalidArgument)
	}
	_, err := session.Generate(nil, -1, nil)
	isError(t, err, InvalidArgument)
	equal(t, must[SessionInfo](t)(session.Info()).TokenCount, 2)
}

func TestALimitCountsFromItsCall(t *testing.T) {
	model := openModel(t)
	session, other := openSession(t, model, nil), openSession(t, model, nil)
	whole := collect(t, other, "It was", 5)
	must[Status](t)(session.Prefill(must[[]Token](t)(model.Tokenize("It was"))))
	text := ""
	for _, limit := range []int{3, 2} {
		noError(t, session.SetLimit(limit))
		for status := OK; status == OK; {
			piece, stop, err := session.Next()
			noError(t, err)
			text, status = text+piece.Text, stop
		}
		equal(t, stopOf(t, session), StopMaxTokens)
	}
	equal(t, text, whole)
}

func TestASecondTextNeedsTheGrammarAgain(t *testing.T) {
	session := openSession(t, openModel(t), nil)
	noError(t, session.SetGrammar(must[*Grammar](t)(ChoicesGrammar("yes", "no"))))
	for i := 0; i < 2; i++ {
		if text := collect(t, session, "He said ", NoLimit); text != "yes" && text != "no" {
			t.Errorf("%q is no choice", text)
		}
		for _, err := range session.Stream(context.Background(), "She said ", NoLimit) {
			isError(t, err, InvalidState)
		}
		noError(t, session.Reset())
	}
}

func TestATextIsCompleteWithinTheTokensOfItsGrammar(t *testing.T) {
	session := openSession(t, openModel(t), nil)
	schema := `{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}`
	noError(t, session.SetGrammarWithin(must[*Grammar](t)(JSONSchemaGrammar(schema)), 20))
	if text := collect(t, session, "A person: ", 20); !strings.HasSuffix(text, "}") {
		t.Errorf("%q is not complete", text)
	}
	equal(t, stopOf(t, session), StopGrammar)
}

func TestProbabilities(t *testing.T) {
	model := openModel(t)
	session := openSession(t, model, nil)
	params := DefaultSamplerParams()
	params.Temperature, params.LogProbabilities, params.AlternativeCount = 0, true, 3
	params.Statistics = true
	noError(t, session.SetSampler(params))
	must[Status](t)(session.Prefill(must[[]Token](t)(model.Tokenize("Once upon a"))))
	logits := must[[]float32](t)(session.Logits())
	piece, _, err := session.Next()
	noError(t, err)
	largest := slices.Max(logits)
	equal(t, Token(slices.Index(logits, largest)), piece.Token)
	sum := 0.0
	for _, l := range logits {
		sum += math.Exp(float64(l - largest))
	}
	if math.Abs(float64(piece.LogProbability)+math.Log(sum)) > 1e-4 {
		t.Errorf("ln p %v, not %v", piece.LogProbability, -math.Log(sum))
	}
	entropy := math.Log(sum)
	for _, l := range logits {
		entropy += math.Exp(float64(l-largest)) / sum * float64(largest-l)
	}
	if math.Abs(float64(piece.Entropy)-entropy) > 1e-4 {
		t.Errorf("entropy %v, not %v", piece.Entropy, entropy)
	}
	if math.Abs(float64(piece.EffectiveVocabulary)/math.Exp(entropy)-1) > 1e-3 {
		t.Errorf("effective vocabulary %v, not %v", piece.EffectiveVocabulary, math.Exp(entropy))
	}
	equal(t, piece.KeptCount, 1)
	equal(t, piece.Repetitiveness, 0)
	equal(t, len(piece.Alternatives), 3)
	equal(t, piece.Alternatives[0], Alternative{piece.Token, piece.LogProbability})
	equal(t, string(piece.Bytes), string(must[[]byte](t)(model.TokenBytes(piece.Token))))
	equal(t, len(must[[]float32](t)(session.Hidden())), int(model.Info().EmbeddingSize))
}

func TestListsOfTheSampler(t *testing.T) {
	session := openSession(t, openModel(t), nil)
	params := DefaultSamplerParams()
	equal(t, len(params.DRYBreakers), 4)
	params.Temperature, params.TopK, params.TopP, params.MinP = 0, 0, 1, 0
	params.LogitBias = []TokenBias{{5, float32(math.Inf(-1))}}
	params.SequenceBias = []SequenceBias{{[]Token{1, 2}, -5}}
	params.BadWords = [][]Token{{3, 4}, {5}}
	params.ForcedPrefix = []Token{11, 12}
	params.Stages = []Stage{StageBias, StageSequenceBias, StageBadWords, StageForced, StageTemperature}
	noError(t, session.SetSampler(params))
	var tokens []Token
	for piece, err := range session.Pieces(context.Background(), []Token{7}, 4) {
		noError(t, err)
		tokens = append(tokens, piece.Token)
	}
	equalTokens(t, tokens[:2], []Token{11, 12})
	params.Stages = []Stage{StageTopK, StageTopK}
	isError(t, session.SetSampler(params), InvalidArgument)
	params = DefaultSamplerParams()
	params.LogitsCallback = func(logits []float32) {
		for token := range logits {
			if token != 7 {
				logits[token] = float32(math.Inf(-1))
			}
		}
	}
	noError(t, session.SetSampler(params))
	for piece, err := range session.Pieces(context.Background(), []Token{1}, 3) {
		noError(t, err)
		equal(t, piece.Token, 7)
	}
	params.LogitsCallback = nil
	params.LogitsProcessor = func(tokens []Token, sequence uint32, logits []float32) {
		equal(t, sequence, 0)
		logits[tokens[len(tokens)-1]+1] = float32(math.Inf(1))
	}
	noError(t, session.SetSampler(params))
	next := Token(5)
	for piece, err := range session.Pieces(context.Background(), []Token{next}, 3) {
		noError(t, err)
		next++
		equal(t, piece.Token, next)
	}
}

func TestStopsStatesAndScores(t *testing.T) {
	model := openModel(t)
	session, other := openSession(t, model, nil), openSession(t, model, nil)
	stops := DefaultStopParams()
	stops.MaxTokens, stops.BannedStrings = 5, []string{" the"}
	noError(t, session.SetStops(stops))
	first := collect(t, session, "It was", NoLimit)
	equal(t, stopOf(t, session), StopMaxTokens)
	state := must[[]byte](t)(session.Save())
	noError(t, session.ForkInto(other))
	rest := collect(t, session, "", 4)
	equal(t, collect(t, other, "", 4), rest)
	noError(t, other.Restore(state))
	equal(t, collect(t, other, "", 4), rest)
	isError(t, other.Restore(state[:9]), StateCorrupt)
	isError(t, session.ForkInto(session), InvalidState)
	prompt := must[[]Token](t)(model.Tokenize("It was"))
	noError(t, session.Rewind(uint64(len(prompt))))
	equal(t, collect(t, session, "", NoLimit), first)
	noError(t, session.Reset())
	score, each, err := session.Score(prompt)
	noError(t, err)
	equal(t, math.Abs(score.LogProbability-float64(each[1])) < 1e-5, true)
	noError(t, session.Reset())
	must[Status](t)(session.Prefill(must[[]Token](t)(model.Tokenize("Once upon a tim"))))
	noError(t, session.Heal())
	piece, _, err := session.Next()
	noError(t, err)
	equal(t, piece.Text[:1], "e")
	equal(t, must[SessionTimings](t)(session.Timings()).PrefillTokens > 0, true)
	noError(t, session.ResetTimings())
	equal(t, must[SessionTimings](t)(session.Timings()).PrefillTokens, 0)
}

func TestConversations(t *testing.T) {
	session := openSession(t, openModel(t), nil)
	params := DefaultChatParams()
	params.ReplyTokens = 16
	chat := must[*Chat](t)(session.NewChat(ChatPlain.Text(), params))
	noError(t, chat.Add(RoleUser, "Once upon a time?"))
	reply, _, err := chat.Reply(8, nil)
	noError(t, err)
	equal(t, must[ChatInfo](t)(chat.Info()).MessageCount, 2)
	state := must[[]byte](t)(chat.Save())
	noError(t, chat.UndoReply())
	again, _, err := chat.Reply(8, func(Piece) bool { return false })
	noError(t, err)
	equal(t, again, reply)
	noError(t, chat.Undo())
	noError(t, chat.Restore(state))
	stops := DefaultStopParams()
	stops.MaxTokens = 2
	noError(t, chat.SetStops(stops))
	noError(t, chat.Add(RoleUser, "And then?"))
	_, status, err := chat.Reply(NoLimit, nil)
	noError(t, err)
	equal(t, status, StopMaxTokens)
	noError(t, chat.Reset())
	_, _, err = chat.Reply(1, nil)
	isError(t, err, InvalidState)
}

func TestStopsThatLeaveNothingToGive(t *testing.T) {
	model := openModel(t)
	session := openSession(t, model, func(p *SessionParams) {
		p.ContextTokens, p.SequenceCount, p.SequenceTokens = 16, 2, 4
	})
	sampler := DefaultSamplerParams()
	sampler.IgnoreEnd = true
	noError(t, session.SetSampler(sampler))
	calls := map[string]func() (int, error){
		"logits": func() (int, error) { found, err := session.Logits(); return len(found), err },
		"hidden": func() (int, error) { found, err := session.Hidden(); return len(found), err },
		"search": func() (int, error) { found, err := session.Search(nil); return len(found), err },
	}
	long := make([]Token, 17)
	_, _, err := session.Score(long)
	isError(t, err, PromptTooLong)
	equal(t, err.(*Error).Message,
		"17 tokens do not fit a context of 16; shorten the prompt, or set overflow to ring or shift")
	_, err = session.Embed(long, PoolMean)
	isError(t, err, PromptTooLong)
	must[Status](t)(session.Prefill(must[[]Token](t)(model.Tokenize("It was"))))
	for name, size := range map[string]int{"logits": 4096, "hidden": 256, "search": 2} {
		_, _, err := session.Next()
		noError(t, err)
		session.Cancel()
		_, err = calls[name]()
		isError(t, err, StopCancelled)
		equal(t, must[int](t)(calls[name]()), size)
	}
	params := DefaultSearchParams()
	params.OnStep = func(uint32, Token) bool { return true }
	equal(t, len(must[[]Sequence](t)(session.Search(params))), 2)
	equal(t, must[Status](t)(session.Generate(nil, NoLimit, nil)), StopContextFull)
	for _, call := range calls {
		_, err := call()
		isError(t, err, StopContextFull)
	}
}

func TestSearches(t *testing.T) {
	model := openModel(t)
	session := openSession(t, model, func(p *SessionParams) {
		p.SequenceCount, p.SequenceTokens, p.Features = 4, 8, FeatureHiddenHistory
	})
	must[Status](t)(session.Prefill(must[[]Token](t)(model.Tokenize("She looked"))))
	at, up := must[[]Token](t)(model.Tokenize(" at")), must[[]Token](t)(model.Tokenize(" up"))
	steps := 0
	params := DefaultSearchParams()
	params.MaxTokens, params.Phrases, params.PhraseGroups = 5, [][]Token{at, up}, []uint32{0, 0}
	params.OnStep = func(uint32, Token) bool { steps++; return false }
	for _, sequence := range must[[]Sequence](t)(session.Search(params)) {
		if !slices.Contains(sequence.Tokens, at[0]) && !slices.Contains(sequence.Tokens, up[0]) {
			t.Errorf("no phrase in %v", sequence.Tokens)
		}
	}
	equal(t, steps > 0, true)
	params.PhraseGroups = nil
	params.Phrases = nil
	params.Mode, params.Rerank = SearchSample, RerankCallback
	params.Similarity = func(a, b []Token) float64 { return float64(len(a) - len(b)) }
	equal(t, len(must[[]Sequence](t)(session.Search(params))), 4)
	params = DefaultSearchParams()
	params.Mode, params.MaxTokens = SearchContrastive, 4
	equal(t, len(must[[]Sequence](t)(session.Search(params))), 1)
	params.PhraseGroups = []uint32{1}
	_, err := session.Search(params)
	isError(t, err, InvalidArgument)
}

func TestSpeculation(t *testing.T) {
	model := openModel(t)
	plain, fast := openSession(t, model, nil), openSession(t, model, func(p *SessionParams) { p.DraftTokens = 4 })
	params := DefaultSpeculationParams()
	params.Sources = DraftLookup | DraftCallback
	params.Draft = func(tokens []Token, _ []float32, drafts []Token) int {
		return copy(drafts, tokens[max(len(tokens)-2, 0):])
	}
	noError(t, fast.SetSpeculation(params))
	equal(t, collect(t, fast, "It was", 30), collect(t, plain, "It was", 30))
	equal(t, must[SpeculationInfo](t)(fast.SpeculationInfo()).ProposedCount > 0, true)
}

func TestGrammars(t *testing.T) {
	number := DefaultGrammarParams()
	number.Language = LanguageNumber
	cases := map[string]*Grammar{
		"aa":  must[*Grammar](t)(GBNFGrammar(`root ::= "a"+`)),
		"42":  must[*Grammar](t)(RegexGrammar("[0-9]{2}")),
		"no":  must[*Grammar](t)(ChoicesGrammar("yes", "no")),
		"17":  must[*Grammar](t)(JSONSchemaGrammar(`{"type": "integer"}`)),
		"2.5": must[*Grammar](t)(CompileGrammar(`{"minimum": 1, "maximum": 9}`, number)),
	}
	for text, grammar := range cases {
		loaded := must[*Grammar](t)(LoadGrammar(must[[]byte](t)(grammar.Save())))
		matcher := must[*Matcher](t)(NewMatcher(loaded, nil, nil))
		_, matches, err := matcher.Test(0, text)
		noError(t, err)
		equal(t, matches, true)
		_, matches, err = matcher.Test(0, text+"?")
		noError(t, err)
		equal(t, matches, false)
	}
	_, err := LoadGrammar([]byte("nothing"))
	isError(t, err, GrammarCorrupt)
}

func TestMatcherOverAnyVocabulary(t *testing.T) {
	words := [][]byte{[]byte("a"), []byte("b"), []byte("ab"), []byte("c"), []byte("</s>")}
	vocabulary := must[*Vocabulary](t)(NewTokenVocabulary(words, []Token{4}, []Token{4}))
	grammar := must[*Grammar](t)(GBNFGrammar(`root ::= "ab"+`))
	params := DefaultMatcherParams()
	params.SequenceCount = 2
	matcher := must[*Matcher](t)(NewMatcher(grammar, vocabulary, params))
	equalTokens(t, must[[]Token](t)(matcher.AllowedTokens(0)), []Token{0, 2})
	noError(t, matcher.AcceptToken(0, 0))
	equal(t, must[[]uint64](t)(matcher.Mask(0))[0], 0b10)
	equal(t, string(must[[]byte](t)(matcher.ForcedText(0, 10))), "b")
	noError(t, matcher.Fork(0, 1))
	noError(t, matcher.AcceptText(1, "b"))
	equal(t, must[MatcherInfo](t)(matcher.Info(1)).MayEnd, true)
	noError(t, matcher.Rewind(1))
	equal(t, must[MatcherInfo](t)(matcher.Info(0)).TokenCount, 0)
	noError(t, matcher.Reset(1))
	isError(t, matcher.AcceptToken(0, 3), InvalidArgument)
	_, err := NewTokenVocabulary(words, []Token{9}, nil)
	isError(t, err, InvalidArgument)
	equal(t, matcher.MemoryBytes() > 0, true)
}

func TestSamplersAndWatermarks(t *testing.T) {
	params := DefaultSamplerParams()
	params.TopP, params.TopK, params.MinP, params.Temperature = 0.8, 0, 0, 1
	sampler := must[*Sampler](t)(NewSampler(4, nil, params))
	defer sampler.Close()
	input := SamplerInput{Logits: []float32{1, 2, 3, 2.5}, History: []Token{0, 1}, GeneratedCount: 1}
	tokens, probabilities, err := sampler.Apply(input)
	noError(t, err)
	equalTokens(t, tokens, []Token{1, 2, 3})
	equal(t, len(probabilities), 3)
	equal(t, slices.Contains(tokens, must[Token](t)(sampler.Sample(input))), true)
	input.Allowed = []uint64{1}
	equal(t, must[Token](t)(sampler.Sample(input)), 0)
	_, err = sampler.Sample(SamplerInput{Logits: make([]float32, 3)})
	isError(t, err, InvalidArgument)

	model := openModel(t)
	session := openSession(t, model, nil)
	mark := DefaultWatermarkParams()
	mark.Scheme, mark.Key, mark.Delta = WatermarkLeftHash, 7, 6
	params = DefaultSamplerParams()
	params.Watermark = mark
	noError(t, session.SetSampler(params))
	var written []Token
	for piece, err := range session.Pieces(context.Background(), must[[]Token](t)(model.Tokenize("It was")), 80) {
		noError(t, err)
		written = append(written, piece.Token)
	}
	size := int(model.Info().VocabularySize)
	equal(t, must[WatermarkResult](t)(DetectWatermark(mark, size, written)).IsMarked, true)
	mark.Key = 8
	equal(t, must[WatermarkResult](t)(DetectWatermark(mark, size, written)).IsMarked, false)
}
