#ifndef WEIR_WIRE_GRPC_PATHS_H
#define WEIR_WIRE_GRPC_PATHS_H

/*
 * The methods of the services we call, and which messages (proto/) go out and come back. A line
 * that says "stream" has many.
 */

/* chunkers.proto → caikit_data_model.proto; metadata mm-model-id: the chunker */
/* ChunkerTokenizationTaskRequest → TokenizationResults */
#define WEIR_GRPC_CHUNK "/caikit.runtime.Chunkers.ChunkersService/ChunkerTokenizationTaskPredict"
/* stream BidiStreamingChunkerTokenizationTaskRequest → stream ChunkerTokenizationStreamResult */
#define WEIR_GRPC_CHUNK_STREAM                                                                     \
    "/caikit.runtime.Chunkers.ChunkersService/BidiStreamingChunkerTokenizationTaskPredict"

/* nlp.proto → caikit_data_model.proto; metadata mm-model-id: the model */
/* TextGenerationTaskRequest → GeneratedTextResult */
#define WEIR_GRPC_NLP_GENERATE "/caikit.runtime.Nlp.NlpService/TextGenerationTaskPredict"
/* TextGenerationTaskRequest → stream GeneratedTextStreamResult */
#define WEIR_GRPC_NLP_STREAM                                                                       \
    "/caikit.runtime.Nlp.NlpService/ServerStreamingTextGenerationTaskPredict"
/* TokenizationTaskRequest → TokenizationResults */
#define WEIR_GRPC_NLP_TOKENIZE "/caikit.runtime.Nlp.NlpService/TokenizationTaskPredict"

/* fmaas.proto */
/* BatchedGenerationRequest → BatchedGenerationResponse */
#define WEIR_GRPC_TGIS_GENERATE "/fmaas.GenerationService/Generate"
/* SingleGenerationRequest → stream GenerationResponse */
#define WEIR_GRPC_TGIS_STREAM "/fmaas.GenerationService/GenerateStream"
/* BatchedTokenizeRequest → BatchedTokenizeResponse */
#define WEIR_GRPC_TGIS_TOKENIZE "/fmaas.GenerationService/Tokenize"
/* ModelInfoRequest → ModelInfoResponse */
#define WEIR_GRPC_TGIS_INFO "/fmaas.GenerationService/ModelInfo"

/* health.proto: HealthCheckRequest → HealthCheckResponse */
#define WEIR_GRPC_HEALTH_CHECK "/grpc.health.v1.Health/Check"

/* OpenTelemetry's collector; what goes out is written by hand, what comes back is not read */
#define WEIR_GRPC_OTLP_TRACES "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
#define WEIR_GRPC_OTLP_METRICS "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

#endif
