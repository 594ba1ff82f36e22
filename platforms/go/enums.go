package sotto

// The constants of sotto.h, which says what each means.

// Status tells how a call or a text ended: negative for a failure, positive for the end of a text.
type Status int32

const (
	OK                 Status = 0
	StopEndOfText      Status = 1
	StopMaxTokens      Status = 2
	StopContextFull    Status = 3
	StopGrammar        Status = 4
	StopCallback       Status = 5
	StopCancelled      Status = 6
	StopToken          Status = 7
	StopString         Status = 8
	StopTime           Status = 9
	StopRepetition     Status = 10
	StopBanned         Status = 11
	InvalidArgument    Status = -1
	InvalidState       Status = -2
	MemoryTooSmall     Status = -3
	MemoryMisaligned   Status = -4
	BufferTooSmall     Status = -5
	ModelCorrupt       Status = -6
	ModelUnsupported   Status = -7
	GrammarSyntax      Status = -8
	GrammarDeadEnd     Status = -9
	GrammarTooLarge    Status = -10
	CPUUnsupported     Status = -11
	TextInvalid        Status = -12
	TokenizerMissing   Status = -13
	ThreadsUnavailable Status = -14
	StateCorrupt       Status = -15
	GrammarUnsupported Status = -16
	GrammarCorrupt     Status = -17
	Unsupported        Status = -18
	Internal           Status = -100
)

// LogLevel is the weight of a message.
type LogLevel int32

const (
	LogError   LogLevel = 1
	LogWarning LogLevel = 2
	LogInfo    LogLevel = 3
)

// ISA is an instruction set; all give the same bits.
type ISA int32

const (
	ISAAuto        ISA = 0
	ISAReference   ISA = 1
	ISAAVX2        ISA = 2
	ISAAVX512      ISA = 3
	ISAAVX512VNNI  ISA = 4
	ISANEON        ISA = 5
	ISANEONDotProd ISA = 6
	ISANEONI8MM    ISA = 7
	ISAAVX512AMX   ISA = 8
)

// Overflow is what happens when a session is full.
type Overflow int32

const (
	OverflowStop  Overflow = 0
	OverflowRing  Overflow = 1
	OverflowShift Overflow = 2
)

// Feature is what needs memory of its own.
type Feature uint32

const (
	FeatureHiddenHistory Feature = 1
	FeatureDola          Feature = 2
	FeatureGuide         Feature = 4
)

// Stage is one step of the sampling chain.
type Stage int32

const (
	StageLogitsCallback Stage = 1
	StageBias           Stage = 2
	StageSequenceBias   Stage = 3
	StageAllowed        Stage = 4
	StageSuppress       Stage = 5
	StageBadWords       Stage = 6
	StageMinTokens      Stage = 7
	StageForced         Stage = 8
	StageEndDecay       Stage = 9
	StageRepetition     Stage = 10
	StageFrequency      Stage = 11
	StagePresence       Stage = 12
	StageNoRepeatNGram  Stage = 13
	StageDRY            Stage = 14
	StageTemperature    Stage = 15
	StageSmoothing      Stage = 16
	StageTopK           Stage = 17
	StageTopP           Stage = 18
	StageMinP           Stage = 19
	StageTopA           Stage = 20
	StageTailFree       Stage = 21
	StageTypical        Stage = 22
	StageEpsilon        Stage = 23
	StageEta            Stage = 24
	StageTopNSigma      Stage = 25
	StageTopH           Stage = 26
	StageXTC            Stage = 27
	StageWatermark      Stage = 28
)

// Order is a ready-made order of stages.
type Order int32

const (
	OrderDefault Order = 0
	OrderHF      Order = 1
	OrderOpenAI  Order = 2
)

// Selection is how one of the tokens that are left is picked.
type Selection int32

const (
	SelectMultinomial Selection = 0
	SelectGreedy      Selection = 1
	SelectGumbel      Selection = 2
	SelectMirostat    Selection = 3
	SelectMirostatV2  Selection = 4
	SelectAdaptiveP   Selection = 5
)

// WatermarkScheme is a kind of watermark.
type WatermarkScheme int32

const (
	WatermarkNone       WatermarkScheme = 0
	WatermarkLeftHash   WatermarkScheme = 1
	WatermarkSelfHash   WatermarkScheme = 2
	WatermarkTournament WatermarkScheme = 3
	WatermarkGumbel     WatermarkScheme = 4
)

// Dola sets layers against layers.
type Dola int32

const (
	DolaOff  Dola = 0
	DolaLow  Dola = 1
	DolaHigh Dola = 2
)

// Pooling is how hidden states become an embedding.
type Pooling int32

const (
	PoolLast Pooling = 0
	PoolMean Pooling = 1
)

// GuideMode is what a second session does.
type GuideMode int32

const (
	GuideOff      GuideMode = 0
	GuideCFG      GuideMode = 1
	GuideContrast GuideMode = 2
)

// SearchMode is a kind of search.
type SearchMode int32

const (
	SearchBeam        SearchMode = 0
	SearchBeamSample  SearchMode = 1
	SearchSample      SearchMode = 2
	SearchContrastive SearchMode = 3
)

// EarlyStopping is when beam search ends.
type EarlyStopping int32

const (
	EarlyHeuristic EarlyStopping = 0
	EarlyAtOnce    EarlyStopping = 1
	EarlyNever     EarlyStopping = 2
)

// LengthNorm is how scores of unlike lengths compare.
type LengthNorm int32

const (
	LengthPower LengthNorm = 0
	LengthGNMT  LengthNorm = 1
)

// Rerank is what a search by sampling puts first.
type Rerank int32

const (
	RerankOrder    Rerank = 0
	RerankBest     Rerank = 1
	RerankExact    Rerank = 2
	RerankNGram    Rerank = 3
	RerankCallback Rerank = 4
)

// GrammarLanguage is what the source of a grammar is written in.
type GrammarLanguage int32

const (
	LanguageGBNF       GrammarLanguage = 0
	LanguageJSONSchema GrammarLanguage = 1
	LanguageRegex      GrammarLanguage = 2
	LanguageJSON       GrammarLanguage = 3
	LanguageJSONObject GrammarLanguage = 4
	LanguageChoices    GrammarLanguage = 5
	LanguageNumber     GrammarLanguage = 6
	LanguageTools      GrammarLanguage = 7
)

// JSONSpace is where JSON may have space.
type JSONSpace int32

const (
	JSONFlexible JSONSpace = 0
	JSONCompact  JSONSpace = 1
	JSONOneSpace JSONSpace = 2
)

// Draft is where guesses at the next tokens come from; a set of bits.
type Draft uint32

const (
	DraftLookup    Draft = 1
	DraftSession   Draft = 2
	DraftEarlyExit Draft = 4
	DraftLookahead Draft = 8
	DraftCallback  Draft = 16
)
