package sotto

// Parameters. Each struct is the one of the same name in sotto.h, which says what its fields do, and their
// ranges; DefaultXxxParams gives the defaults that the library has.

// TokenBias adds to the logit of a token; negative infinity bans it.
type TokenBias struct {
	Token Token
	Bias  float32
}

// SequenceBias adds to the logit of the last token where those before it have just come.
type SequenceBias struct {
	Tokens []Token
	Bias   float32
}

// ModelParams is how a model is opened.
type ModelParams struct {
	ISA             ISA
	VerifyChecksums bool
	CopyWeights     bool
	Log             func(level LogLevel, message string)
}

// SessionParams is the shape of a session; all of its memory follows from it.
type SessionParams struct {
	ContextTokens  uint32
	BatchTokens    uint32
	ThreadCount    uint32
	Overflow       Overflow
	SinkTokens     uint32
	SequenceCount  uint32
	SequenceTokens uint32
	Features       Feature
	ListBytes      uint32
	DraftTokens    uint32
}

// WatermarkParams is a watermark.
type WatermarkParams struct {
	Scheme           WatermarkScheme
	ContextWidth     uint32
	Gamma            float32
	Delta            float32
	TournamentLayers uint32
	Key              uint64
}

// SamplerParams is the chain between logits and token.
type SamplerParams struct {
	Temperature           float32
	TopK                  uint32
	TopP                  float32
	MinP                  float32
	RepetitionPenalty     float32
	RepetitionWindow      uint32
	LogProbabilities      bool
	Seed                  uint64
	Order                 Order
	MinKeep               uint32
	Stages                []Stage
	FrequencyPenalty      float32
	PresencePenalty       float32
	PenalizePrompt        bool
	PenaltySlope          float32
	NoRepeatNGram         uint32
	DRYMultiplier         float32
	DRYBase               float32
	DRYAllowedLength      uint32
	DRYWindow             uint32
	GuardWindow           uint32
	GuardPenalty          float32
	DRYBreakers           []string
	DRYBreakerTokens      []Token
	TemperatureRange      float32
	TemperatureExponent   float32
	SmoothingFactor       float32
	SmoothingCurve        float32
	TopPDecay             float32
	TopPMin               float32
	TopPResetToken        Token
	TopA                  float32
	TailFree              float32
	TypicalP              float32
	Epsilon               float32
	Eta                   float32
	TopNSigma             float32
	TopH                  float32
	XTCProbability        float32
	XTCThreshold          float32
	Selection             Selection
	MirostatTau           float32
	MirostatEta           float32
	MirostatM             uint32
	AdaptiveTarget        float32
	AdaptiveDecay         float32
	MinNewTokens          uint32
	IgnoreEnd             bool
	EndDecayStart         uint32
	EndDecayFactor        float32
	ForcedLastToken       Token
	LogitBias             []TokenBias
	SequenceBias          []SequenceBias
	BadWords              [][]Token
	AllowedTokens         []Token
	SuppressedTokens      []Token
	BeginSuppressedTokens []Token
	ForcedPrefix          []Token
	LogitsCallback        func(logits []float32)
	Watermark             *WatermarkParams
	Dola                  Dola
	DolaRelativeTop       float32
	AlternativeCount      uint32
}

// StopParams is when a text ends, and what never comes.
type StopParams struct {
	IncludeStopText  bool
	MaxTokens        uint64
	MaxTimeNS        uint64
	RepetitionLimit  float32
	RepetitionWindow uint32
	StopTokens       []Token
	StopStrings      []string
	BannedStrings    []string
}

// GuideParams is what a second session does to the first.
type GuideParams struct {
	Mode  GuideMode
	Scale float32
	Alpha float32
	Beta  float32
}

// SearchParams is a search over several continuations.
type SearchParams struct {
	Mode             SearchMode
	SequenceCount    uint32
	ReturnCount      uint32
	MaxTokens        uint32
	LengthPenalty    float32
	LengthNorm       LengthNorm
	EarlyStopping    EarlyStopping
	GroupCount       uint32
	DiversityPenalty float32
	Rerank           Rerank
	ContrastiveK     uint32
	ContrastiveAlpha float32
	Phrases          [][]Token
	PhraseGroups     []uint32
	Similarity       func(a, b []Token) float64
	OnStep           func(sequence uint32, token Token) (stop bool)
}

// GrammarParams is how the source of a grammar is read.
type GrammarParams struct {
	Language                   GrammarLanguage
	Root                       string
	Vocabulary                 *Vocabulary
	Triggers                   []string
	TriggerTokens              []Token
	JSONSpace                  JSONSpace
	MaximumSpace               uint32
	AllowSurroundingWhitespace bool
	SchemaDraft                uint32
	AssertFormats              bool
	Closed                     bool
	DistinctNames              bool
	ParallelToolCalls          bool
	Log                        func(level LogLevel, message string)
}

// MatcherParams is how much a matcher may keep.
type MatcherParams struct {
	SequenceCount uint32
	RollbackCount uint32
	NodeCount     uint32
	FrameCount    uint32
	ConfigCount   uint32
	ItemCount     uint32
	WorkCount     uint32
	MaskBytes     uint32
	StepBudget    uint64
}

// SpeculationParams is where guesses at the next tokens come from.
type SpeculationParams struct {
	Sources        Draft
	DraftTokens    uint32
	MinMatch       uint32
	MaxMatch       uint32
	ExitLayer      uint32
	DraftThreshold float32
	DraftSession   *Session
	Draft          func(tokens []Token, hidden []float32, drafts []Token) (count int)
}
